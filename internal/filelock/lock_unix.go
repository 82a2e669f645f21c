//go:build unix && !linux

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes the lock on the whole file or gives ErrHeld.
func Lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EAGAIN) {
		return ErrHeld
	}
	return err
}
