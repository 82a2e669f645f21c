package local

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const (
	locksSurviveClose  = true
	renamesLockedFiles = false // an open file can't be replaced, so only the lock file is locked
)

// lockFile takes an exclusive lock on the whole file, or gives errHeld.
func lockFile(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errHeld
	}
	return err
}

// lockState isn't used here.
func lockState(f *os.File) error { return lockFile(f) }
