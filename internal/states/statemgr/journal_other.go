//go:build !linux

package statemgr

import "os"

// syncData waits until the file is on disk.
func syncData(f *os.File) error { return f.Sync() }
