// Package filelock takes locks on open files, for processes of this machine that must not write the same thing at once.
//
// A lock belongs to the descriptor that took it and ends when that is closed, at the latest with the process. It is advisory:
// it keeps out those who ask.
//
// Invariants: nothing here waits.
package filelock

import "errors"

// ErrHeld is what Lock and LockShared give when somebody else has a lock that excludes theirs.
var ErrHeld = errors.New("locked by another process")
