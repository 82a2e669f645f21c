package filelock

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes the lock on the whole file or gives ErrHeld. It excludes process-wide locks (fcntl) as well, such as OpenTofu takes.
func Lock(f *os.File) error {
	flock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &flock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrHeld
	}
	return err
}
