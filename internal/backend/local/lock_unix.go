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
	locksSurviveClose  = false // closing any descriptor of a file releases the process's locks on it
	renamesLockedFiles = true
)

// lockState takes the same kind of lock on the snapshot as OpenTofu does. The lock belongs to the
// process.
func lockState(f *os.File) error {
	flock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &flock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return filelock.ErrHeld
	}
	return err
}
