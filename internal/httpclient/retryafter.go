package httpclient

import (
	"net/http"
	"strconv"
	"time"
)

// RetryAfter returns the delay that a response asks for in seconds or as a date, or zero.
func RetryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	seconds, _ := strconv.ParseUint(value, 10, 31) // the largest number if it is out of range
	return time.Duration(seconds) * time.Second
}
