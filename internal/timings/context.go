package timings

import (
	"context"
	"fmt"
)

// TraceID identifies a trace.
type TraceID [16]byte

type traceParentKey struct{}

// Context returns a context that identifies the current work on an instance. In the trace, the
// spans of child processes are part of this work if they get the result of TraceParent. If there is
// no trace, Context returns ctx.
func (r *Recorder) Context(ctx context.Context, about fmt.Stringer) context.Context {
	if r == nil || r.sink == nil {
		return ctx
	}
	r.mu.Lock()
	span, ok := r.working[about]
	if !ok {
		span = r.current
	}
	r.mu.Unlock()
	const sampled = "01"
	return context.WithValue(ctx, traceParentKey{}, fmt.Sprintf("00-%x-%x-%s", r.trace, span, sampled))
}

// TraceParent returns the value of the environment variable TRACEPARENT for a child process, in the
// form of W3C Trace Context. It returns "" if there is no trace.
func TraceParent(ctx context.Context) string {
	text, _ := ctx.Value(traceParentKey{}).(string)
	return text
}
