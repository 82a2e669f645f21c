//go:build unix

package pkgstore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file, or tells that somebody else holds it.
func tryLock(f *os.File) (heldByOther bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return true, nil
	}
	return false, err
}
