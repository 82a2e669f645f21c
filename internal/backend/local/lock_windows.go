package local

import "os"

const (
	locksSurviveClose  = true
	renamesLockedFiles = false // open files can't be replaced, so only the lock file is locked
)

// lockState does nothing; see renamesLockedFiles.
func lockState(*os.File) error { return nil }
