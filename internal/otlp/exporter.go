package otlp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tofu/internal/httpclient"
	"tofu/internal/timings"
	"tofu/internal/version"
)

const (
	batch = 512             // spans per message
	queue = 16 * batch      // maximum number of waiting spans; any more are dropped
	delay = 5 * time.Second // maximum time for which a span waits for others to be sent with it
)

// Exporter sends spans in the background.
type Exporter struct {
	settings *settings
	version  string
	log      *slog.Logger
	trace    timings.TraceID
	send     sender

	waiting chan timings.Span
	closing chan struct{}
	closed  chan struct{}
	cancel  context.CancelFunc // cancels the requests

	mu      sync.Mutex
	lost    int   // number of spans that were not delivered
	problem error // first error in delivering a message
}

// sender delivers one message.
type sender interface {
	send(ctx context.Context, message []byte) error
	close()
}

// New returns the exporter that the environment configures. It returns nil if no trace is to be
// sent. build identifies this program. The exporter logs what it does.
func New(getenv func(string) string, build version.Info, log *slog.Logger) (*Exporter, error) {
	s, err := readSettings(getenv, build)
	if s == nil {
		return nil, err
	}
	e := &Exporter{settings: s, version: build.Version, log: log, trace: s.parent.trace,
		waiting: make(chan timings.Span, queue), closing: make(chan struct{}), closed: make(chan struct{})}
	if e.trace == (timings.TraceID{}) {
		_, _ = rand.Read(e.trace[:]) // never returns an error
	}
	if s.grpc {
		e.send, err = newGRPC(s)
	} else {
		e.send = newHTTP(s)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	e.logSettings(getenv)
	go e.run(ctx)
	return e, nil
}

// logSettings logs where the trace is sent. If TRACEPARENT is set, it also logs of which trace the
// run is a part, or that the variable is invalid.
func (e *Exporter) logSettings(getenv func(string) string) {
	protocol := "http/protobuf"
	if e.settings.grpc {
		protocol = "grpc"
	}
	e.log.Debug("OpenTelemetry: sending a trace", "endpoint", httpclient.Redact(e.settings.endpoint),
		"protocol", protocol,
		"trace", hex.EncodeToString(e.trace[:]))
	parent := getenv("TRACEPARENT")
	switch {
	case parent == "":
	case e.settings.parent.span == (timings.ID{}):
		e.log.Warn("OpenTelemetry: TRACEPARENT is not a trace context and is ignored", "value", parent)
	default:
		e.log.Debug("OpenTelemetry: found trace parent in environment: " + parent)
		if state := e.settings.parent.state; state != "" {
			e.log.Debug("OpenTelemetry: found trace state in environment: " + state)
		}
	}
}

// Trace returns the ID of the trace.
func (e *Exporter) Trace() timings.TraceID { return e.trace }

// Parent returns the ID of the calling program's span, of which the run is a part, or the zero ID.
func (e *Exporter) Parent() timings.ID { return e.settings.parent.span }

// Span sends a completed span. It never blocks.
func (e *Exporter) Span(s timings.Span) {
	select {
	case e.waiting <- s:
	default:
		e.lose(1, fmt.Errorf("more than %d spans were waiting to be sent", queue))
	}
}

// Close sends the remaining spans, and stops when ctx ends. It returns an error if some spans were
// not delivered. Span must not be called after Close.
func (e *Exporter) Close(ctx context.Context) error {
	stop := context.AfterFunc(ctx, e.cancel)
	defer stop()
	close(e.closing)
	<-e.closed
	e.cancel()
	e.send.close()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost > 0 {
		return fmt.Errorf("not all spans were delivered to %s (missing: %d): %w",
			httpclient.Redact(e.settings.endpoint), e.lost, e.problem)
	}
	return nil
}

func (e *Exporter) lose(n int, why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost += n
	if e.problem == nil {
		e.problem = why
	}
}

// run collects spans and delivers them.
func (e *Exporter) run(ctx context.Context) {
	defer close(e.closed)
	var spans []timings.Span
	deliver := func() {
		if len(spans) > 0 {
			e.deliver(ctx, spans)
			spans = spans[:0]
		}
	}
	tick := time.NewTicker(delay)
	defer tick.Stop()
	for {
		select {
		case s := <-e.waiting:
			spans = append(spans, s)
			if len(spans) == batch {
				deliver()
			}
			continue
		case <-tick.C:
			deliver()
			continue
		case <-e.closing:
		}
		for len(e.waiting) > 0 { // no more spans will be added
			spans = append(spans, <-e.waiting)
			if len(spans) == batch {
				deliver()
			}
		}
		deliver()
		return
	}
}

// deliver sends a message. If the collector asks for a retry and there is enough time, it sends the
// message again.
func (e *Exporter) deliver(ctx context.Context, spans []timings.Span) {
	ctx, cancel := context.WithTimeout(ctx, e.settings.timeout)
	defer cancel()
	message := e.settings.request(e.trace, e.version, spans)
	for wait := time.Second; ; wait *= 2 {
		err := e.send.send(ctx, message)
		if err == nil {
			e.log.Debug("OpenTelemetry: delivered spans", "count", len(spans), "bytes", len(message))
			return
		}
		e.log.Debug("OpenTelemetry: spans were not delivered", "count", len(spans), "error", err)
		if busy, ok := errors.AsType[busyError](err); ok && sleep(ctx, max(wait, busy.after)) {
			continue
		}
		e.lose(len(spans), err)
		return
	}
}

// busyError is returned for a response in which the collector asks for a retry.
type busyError struct {
	error
	after time.Duration // delay that the collector asks for; 0 if it doesn't say
}

// sleep waits for d and returns true. It returns false if ctx ends first, or at once if the
// deadline of ctx is too early.
func sleep(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
