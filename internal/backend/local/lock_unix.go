//go:build unix && !linux

package local

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	locksSurviveClose  = false // the process's locks on a file go with any descriptor of it
	renamesLockedFiles = true
)

// lockFile takes an exclusive lock on the whole lock file, or gives errHeld. It belongs to the descriptor.
func lockFile(f *os.File) error {
	return heldOr(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
}

// lockState takes the kind of lock that OpenTofu takes on the snapshot. It belongs to the process.
func lockState(f *os.File) error {
	flock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	return heldOr(unix.FcntlFlock(f.Fd(), unix.F_SETLK, &flock))
}

func heldOr(err error) error {
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return errHeld
	}
	return err
}
