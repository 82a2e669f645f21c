//go:build unix && !linux

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock acquires an exclusive lock on the file, or returns ErrHeld.
func Lock(f *os.File) error { return take(f, unix.LOCK_EX) }

// LockShared acquires a lock that excludes exclusive locks but not other shared ones, or returns
// ErrHeld.
func LockShared(f *os.File) error { return take(f, unix.LOCK_SH) }

func take(f *os.File, kind int) error {
	err := unix.Flock(int(f.Fd()), kind|unix.LOCK_NB)
	if errors.Is(err, unix.EAGAIN) {
		return ErrHeld
	}
	return err
}
