package httpclient

import (
	"context"
	"fmt"
	"net/http/httptrace"
	"sync/atomic"
)

// TimeoutError reports that a request ended at a time limit. It adds to the cause what the request
// was waiting for, in the words of Go's HTTP client. Programs such as Terragrunt look for these words
// and repeat the command.
type TimeoutError struct {
	Cause error // the cause of the end of the request's context
	stage string
}

func (e *TimeoutError) Error() string {
	if e.Cause == context.DeadlineExceeded {
		return fmt.Sprintf("%s (%s)", e.Cause, e.stage)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Cause, context.DeadlineExceeded, e.stage)
}

// Unwrap returns the cause.
func (e *TimeoutError) Unwrap() error { return e.Cause }

// Timeout reports that the error is a timeout. It implements net.Error.
func (e *TimeoutError) Timeout() bool { return true }

const (
	awaitingHeaders = "Client.Timeout exceeded while awaiting headers"
	readingBody     = "Client.Timeout or context cancellation while reading body"
)

// stage records the step at which a request waits.
type stage struct{ text atomic.Pointer[string] }

func (s *stage) set(text string) { s.text.Store(&text) }

// trace returns a context for a request that records the stages of its connection in s.
func (s *stage) trace(ctx context.Context, host string) context.Context {
	connecting := func(addr string) { s.set(fmt.Sprintf("dial tcp %s: i/o timeout; %s", addr, awaitingHeaders)) }
	connecting(host)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectStart:      func(_, addr string) { connecting(addr) },
		TLSHandshakeStart: func() { s.set("net/http: TLS handshake timeout; " + awaitingHeaders) },
		GotConn:           func(httptrace.GotConnInfo) { s.set(awaitingHeaders) },
	})
}

// explain returns err or, if ctx ended at a time limit, a TimeoutError with its cause.
func (s *stage) explain(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if late, ok := cause.(interface{ Timeout() bool }); ok && late.Timeout() {
		return &TimeoutError{cause, *s.text.Load()}
	}
	return err
}
