package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Lock acquires an exclusive lock on the file, or returns ErrHeld. The locked byte is far beyond
// the content, so that other processes can read the file.
func Lock(f *os.File) error { return take(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// LockShared acquires a lock that excludes exclusive locks but not other shared ones, or returns
// ErrHeld.
func LockShared(f *os.File) error { return take(f, 0) }

func take(f *os.File, kind uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), kind|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrHeld
	}
	return err
}
