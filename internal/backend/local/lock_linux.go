package local

import (
	"os"

	"tofu/internal/filelock"
)

const (
	locksSurviveClose  = true // closing another descriptor of the file doesn't release an open file description lock
	renamesLockedFiles = true
)

// lockState locks the snapshot. On Linux this lock also excludes OpenTofu's.
func lockState(f *os.File) error { return filelock.Lock(f) }
