package local

import "os"

const (
	locksSurviveClose  = true
	renamesLockedFiles = false // an open file can't be replaced, so only the lock file is locked
)

// lockState locks nothing; see renamesLockedFiles.
func lockState(*os.File) error { return nil }
