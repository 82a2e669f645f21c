//go:build unix

package atomicfile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tofu/internal/atomicfile"
)

// TestKeepOwner checks that a file rewritten by the superuser keeps its owner.
func TestKeepOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const other = 12345
	if err := os.Chown(path, other, other); err != nil {
		t.Skip("changing the owner requires the superuser: ", err)
	}
	if err := atomicfile.Rewrite(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != other || st.Gid != other {
		t.Errorf("the owner is %d:%d", st.Uid, st.Gid)
	}
}
