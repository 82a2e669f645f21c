package pkgstore

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks a file, or tells that somebody else holds it.
func tryLock(f *os.File) (heldByOther bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return true, nil
	}
	return false, err
}
