package local

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	locksSurviveClose  = true // open-file-description locks belong to the descriptor that took them
	renamesLockedFiles = true
)

// lockFile takes an exclusive lock on the whole file, or gives errHeld. It excludes the process-wide locks that OpenTofu takes.
func lockFile(f *os.File) error {
	flock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &flock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return errHeld
	}
	return err
}

// lockState is the same for the snapshot.
func lockState(f *os.File) error { return lockFile(f) }
