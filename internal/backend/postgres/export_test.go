package postgres

import "time"

// CheckServer exports checkServer.
var CheckServer = checkServer

// SetRetry sets how long transactions are retried, and returns a function that restores the old
// value.
func SetRetry(d time.Duration) (restore func()) {
	old := retryFor
	retryFor = d
	return func() { retryFor = old }
}

// Transient exports transient.
var Transient = transient
