package httpclient

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter returns the delay that a response asks for, in seconds or as a date. It returns zero
// if none exists.
func RetryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	// If the value is out of range, the result is the largest number.
	seconds, _ := strconv.ParseUint(value, 10, 31)
	return time.Duration(seconds) * time.Second
}
