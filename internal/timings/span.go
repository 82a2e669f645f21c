package timings

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// ID identifies a span within its trace.
type ID [8]byte

// Span is a completed span of a trace.
type Span struct {
	ID, Parent   ID // Parent is the zero ID if there is no parent
	Name         string
	Attributes   []Attribute
	Remote       bool  // another process did the work
	Err          error // nil if the work succeeded
	Began, Ended time.Time
}

// Attribute is a name and a value that describe a span.
type Attribute struct{ Key, Value string }

// Open is a span that has not ended yet. A nil Open does nothing.
type Open struct {
	recorder *Recorder
	span     Span
}

// Trace makes the recorder call sink with each span of the trace. It calls sink when the span ends,
// in the goroutine that ends it.
func (r *Recorder) Trace(id TraceID, sink func(Span)) { r.trace, r.sink = id, sink }

// Begin starts a span inside the current phase. Unlike phases, such spans may be concurrent.
func (r *Recorder) Begin(name string, about ...Attribute) *Open {
	if r == nil || r.sink == nil {
		return nil
	}
	r.mu.Lock()
	parent := r.current
	r.mu.Unlock()
	return r.begin(parent, name, about...)
}

func (r *Recorder) begin(parent ID, name string, about ...Attribute) *Open {
	o := &Open{recorder: r, span: Span{Parent: parent, Name: name, Attributes: about, Began: time.Now()}}
	_, _ = rand.Read(o.span.ID[:]) // never returns an error
	return o
}

// End ends the span. err is the result of the work.
func (o *Open) End(err error) {
	if o != nil {
		o.span.Ended, o.span.Err = time.Now(), err
		o.recorder.sink(o.span)
	}
}

// id returns the ID of the span, which is the parent of other spans.
func (o *Open) id() ID {
	if o == nil {
		return ID{}
	}
	return o.span.ID
}

// Command starts the span of the whole run. parent is the span of the program that started this
// one, or the zero ID.
func (r *Recorder) Command(name string, parent ID) (end func(error)) {
	if r == nil || r.sink == nil {
		return func(error) {}
	}
	o := r.begin(parent, name)
	r.mu.Lock()
	r.current = o.id()
	r.mu.Unlock()
	return o.End
}

// Work starts the work on an instance. The returned function ends it. what is plan, create, etc.
// Calls for the same instance become parts of this work.
func (r *Recorder) Work(what string, addr fmt.Stringer) (end func(error)) {
	if r == nil {
		return func(error) {}
	}
	var o *Open
	if r.sink != nil {
		o = r.Begin(what, Attribute{"opentofu.resource_instance.address", addr.String()})
		r.mu.Lock()
		r.working[addr] = o.id()
		r.mu.Unlock()
	}
	began := time.Now()
	return func(err error) {
		o.End(err)
		took := time.Since(began)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.working[addr] == o.id() {
			delete(r.working, addr)
		}
		r.worked(addr, what, took)
	}
}

// Call starts a call to a provider for an instance. The returned function ends it.
func (r *Recorder) Call(c Call, about fmt.Stringer) (end func()) {
	if r == nil {
		return func() {}
	}
	var o *Open
	if r.sink != nil {
		r.mu.Lock()
		parent, ok := r.working[about]
		if !ok {
			parent = r.current
		}
		r.mu.Unlock()
		o = r.begin(parent, c.Method, Attribute{"opentofu.provider.source", c.Provider})
		o.span.Remote = true
	}
	began := time.Now()
	return func() {
		o.End(nil)
		r.called(c, time.Since(began))
	}
}

// Parent returns the current span for the variable TRACEPARENT of another process, or "" without a trace.
func (r *Recorder) Parent() string { return TraceParent(r.Context(context.Background(), nil)) }
