package httpclient

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter returns the delay that a Retry-After header asks for, in seconds or as a date. It
// returns zero if there is no valid header.
func RetryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	// ParseUint returns the largest number if the value is out of range.
	seconds, _ := strconv.ParseUint(value, 10, 31)
	return time.Duration(seconds) * time.Second
}

// Temporary reports whether a request that failed with this status is worth repeating.
func Temporary(status int) bool {
	return status >= 500 && status != http.StatusNotImplemented || status == http.StatusTooManyRequests
}
