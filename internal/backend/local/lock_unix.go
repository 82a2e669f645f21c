//go:build unix && !linux

package local

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"tofu/internal/filelock"
)

const (
	locksSurviveClose  = false // the process's locks on a file go with any descriptor of it
	renamesLockedFiles = true
)

// lockState takes the kind of lock that OpenTofu takes on the snapshot. It belongs to the process.
func lockState(f *os.File) error {
	flock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &flock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return filelock.ErrHeld
	}
	return err
}
