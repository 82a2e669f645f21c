package filelock

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes the lock on the whole file or gives ErrHeld. It excludes process-wide locks (fcntl) as well, such as OpenTofu takes.
func Lock(f *os.File) error { return take(f, unix.F_WRLCK) }

// LockShared takes a lock that others may have at the same time, though not together with Lock's, or gives ErrHeld.
func LockShared(f *os.File) error { return take(f, unix.F_RDLCK) }

func take(f *os.File, kind int16) error {
	flock := unix.Flock_t{Type: kind, Whence: io.SeekStart}
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &flock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrHeld
	}
	return err
}
