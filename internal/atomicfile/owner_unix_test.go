//go:build unix

package atomicfile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tofu/internal/atomicfile"
)

// TestOwnerStays checks that a file rewritten by the superuser keeps its owner.
func TestOwnerStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const somebody = 12345
	if err := os.Chown(path, somebody, somebody); err != nil {
		t.Skip("only an administrator can make a file somebody else's: ", err)
	}
	if err := atomicfile.Rewrite(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != somebody || st.Gid != somebody {
		t.Errorf("it belongs to %d:%d", st.Uid, st.Gid)
	}
}
