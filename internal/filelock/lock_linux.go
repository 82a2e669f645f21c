package filelock

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Lock acquires an exclusive lock on the file, or returns ErrHeld. The lock also conflicts with
// POSIX locks (fcntl), which belong to a process; OpenTofu uses these.
func Lock(f *os.File) error { return take(f, unix.F_WRLCK) }

// LockShared acquires a lock that excludes exclusive locks but not other shared ones, or returns
// ErrHeld.
func LockShared(f *os.File) error { return take(f, unix.F_RDLCK) }

func take(f *os.File, kind int16) error {
	flock := unix.Flock_t{Type: kind, Whence: io.SeekStart}
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &flock)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrHeld
	}
	return err
}
