//go:build unix

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// KeepOwner sets the owner of f to that of the file it replaces, if the user is permitted to.
func KeepOwner(f *os.File, before fs.FileInfo) {
	if st, ok := before.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

// IsMountPoint reports whether a rename failed because the target is a mount point.
func IsMountPoint(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV)
}
