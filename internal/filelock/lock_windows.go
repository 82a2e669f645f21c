package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Lock takes the lock on the whole file or gives ErrHeld. The locked byte lies far behind any content, so that others can read.
func Lock(f *os.File) error { return take(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// LockShared takes a lock that others may have at the same time, though not together with Lock's, or gives ErrHeld.
func LockShared(f *os.File) error { return take(f, 0) }

func take(f *os.File, kind uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), kind|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrHeld
	}
	return err
}
