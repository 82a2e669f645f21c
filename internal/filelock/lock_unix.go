//go:build unix && !linux

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes the lock on the whole file or gives ErrHeld.
func Lock(f *os.File) error { return take(f, unix.LOCK_EX) }

// LockShared takes a lock that others may have at the same time, though not together with Lock's, or gives ErrHeld.
func LockShared(f *os.File) error { return take(f, unix.LOCK_SH) }

func take(f *os.File, kind int) error {
	err := unix.Flock(int(f.Fd()), kind|unix.LOCK_NB)
	if errors.Is(err, unix.EAGAIN) {
		return ErrHeld
	}
	return err
}
