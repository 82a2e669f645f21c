package httpclient

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// SilenceError reports that a request ended because the server was silent for too long.
type SilenceError struct {
	Host  string
	After time.Duration
}

func (e *SilenceError) Error() string {
	return fmt.Sprintf("no data for %s from %s", e.After, e.Host)
}

// Timeout reports that the error is a timeout. It implements net.Error.
func (e *SilenceError) Timeout() bool { return true }

// transport sends requests, watches their progress and logs them.
type transport struct {
	base      *http.Transport
	silence   time.Duration
	userAgent string
	invalid   error // error in the environment, returned for each request; or nil
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.invalid != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, t.invalid
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	w := newWatch(t.silence, func() { cancel(&SilenceError{req.URL.Host, t.silence}) })
	waiting := &stage{}
	out := req.Clone(waiting.trace(ctx, req.URL.Host))
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", t.userAgent)
	}
	if out.Body != nil && out.Body != http.NoBody {
		out.Body = &requestBody{out.Body, w}
	}
	log := slog.Default().With("method", req.Method, "url", Redact(req.URL))
	start := time.Now()
	w.run()
	resp, err := t.base.RoundTrip(out)
	w.pause()
	if err != nil {
		err = waiting.explain(ctx, err)
		cancel(nil)
		log.Debug("HTTP request failed", "error", Clean(err), "took", time.Since(start))
		return nil, err
	}
	log.Debug("HTTP request", "status", resp.StatusCode, "took", time.Since(start))
	waiting.set(readingBody)
	resp.Body = &responseBody{resp.Body, w, func(err error) error { return waiting.explain(ctx, err) },
		func() { cancel(nil) }}
	return resp, nil
}

// requestBody is the body of a request. If the transport reads from it, the server is accepting
// data and so is alive.
type requestBody struct {
	io.ReadCloser
	watch *watch
}

func (q *requestBody) Read(p []byte) (int, error) {
	n, err := q.ReadCloser.Read(p)
	if err == io.EOF {
		q.watch.received(minimum) // the request is complete, so the limit for the response starts now
	} else {
		q.watch.received(n)
	}
	return n, err
}

// responseBody is the body of a response.
type responseBody struct {
	io.ReadCloser
	watch   *watch
	explain func(error) error // replaces an error caused by a SilenceError with the SilenceError
	cancel  func()
}

func (a *responseBody) Read(p []byte) (int, error) {
	a.watch.run()
	n, err := a.ReadCloser.Read(p)
	a.watch.pause()
	a.watch.received(n)
	if err != nil && err != io.EOF {
		err = a.explain(err)
	}
	return n, err
}

func (a *responseBody) Close() error {
	err := a.ReadCloser.Close()
	a.cancel()
	return err
}

// minimum is the number of bytes that show that a server is alive. A server that sends fewer bytes
// within the limit is treated as silent.
const minimum = 1 << 10

// watch cancels a request if the server is silent. It is paused while the reader of the response
// isn't reading.
type watch struct {
	limit time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	running bool
	left    time.Duration // time left when the watch was last started or paused
	since   time.Time     // time when the watch was last started
	bytes   int           // bytes received since the limit was last reset
}

func newWatch(limit time.Duration, end func()) *watch {
	w := &watch{limit: limit, left: limit, timer: time.AfterFunc(limit, end)}
	w.timer.Stop()
	return w
}

func (w *watch) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running, w.since = true, time.Now()
	w.timer.Reset(w.left)
}

func (w *watch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = false
	if w.timer.Stop() {
		w.left -= time.Since(w.since)
	}
}

// received counts bytes. When they reach minimum, it resets the count and the limit.
func (w *watch) received(bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += bytes
	if w.bytes < minimum {
		return
	}
	w.bytes, w.left, w.since = 0, w.limit, time.Now()
	if w.running && w.timer.Stop() {
		w.timer.Reset(w.limit)
	}
}
