//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
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

// Number returns the number that the system gives a file. Paths lead to one file if and only if
// they have one number. The result is "" if the file system has no numbers.
func Number(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Ino != 0 {
		return fmt.Sprint(st.Dev, ".", st.Ino)
	}
	return ""
}
