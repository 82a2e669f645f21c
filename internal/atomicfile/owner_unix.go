//go:build unix

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// KeepOwner gives the file the owner of the one it replaces, as far as this user may.
func KeepOwner(f *os.File, before fs.FileInfo) {
	if st, ok := before.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

// IsMountPoint tells whether a rename failed because the target is mounted by itself.
func IsMountPoint(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV)
}
