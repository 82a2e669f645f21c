package httpclient

import (
	"fmt"
	"net/url"
)

// GaveUpError reports that the last permitted attempt of a request has failed, too. Scripts look for
// the words "giving up after N attempt(s)", which other programs print in this case.
type GaveUpError struct {
	Method   string
	URL      *url.URL
	Attempts int
	Err      error // of the last attempt
}

func (e *GaveUpError) Error() string {
	return fmt.Sprintf("%s %s giving up after %d attempt(s): %v", e.Method, Redact(e.URL), e.Attempts, e.Err)
}

func (e *GaveUpError) Unwrap() error { return e.Err }
