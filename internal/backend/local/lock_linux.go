package local

import (
	"os"

	"tofu/internal/filelock"
)

const (
	locksSurviveClose  = true // open file description locks belong to the descriptor that took them
	renamesLockedFiles = true
)

// lockState locks the snapshot. On Linux this lock also excludes OpenTofu's.
func lockState(f *os.File) error { return filelock.Lock(f) }
