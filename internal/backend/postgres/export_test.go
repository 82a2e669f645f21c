package postgres

import "time"

// CheckServer is exported for tests.
var CheckServer = checkServer

// SetRetry sets how long transactions are repeated, and returns a function that undoes that.
func SetRetry(d time.Duration) (restore func()) {
	old := retryFor
	retryFor = d
	return func() { retryFor = old }
}
