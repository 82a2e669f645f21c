// Package filelock locks open files, so that processes on the same machine don't write the same
// data at once. [Lock] acquires an exclusive lock, [LockShared] a shared one.
//
// A lock belongs to the [os.File] that acquired it. It is released when that file is closed, at the
// latest when the process ends. Closing another os.File of the same file doesn't release it. It is
// advisory: it excludes only processes that lock the file too.
//
// Invariant: no function waits for a lock.
package filelock

import "errors"

// ErrHeld is returned by Lock and LockShared if another process holds a conflicting lock.
var ErrHeld = errors.New("locked by another process")
