package engine

import (
	"time"

	"tofu/internal/addrs"
	"tofu/internal/timings"
)

// calls limits how many calls to providers and provisioners run at the same time.
type calls struct {
	running chan struct{}
	timings *timings.Recorder // optional
}

// Places limit how many calls run at the same time in several operations together.
type Places chan struct{}

// NewPlaces returns places for n calls.
func NewPlaces(n int) Places { return make(Places, n) }

func newCalls(limit int, places Places, t *timings.Recorder) *calls {
	if places == nil {
		places = NewPlaces(limit)
	}
	return &calls{running: places, timings: t}
}

func (c *calls) limit() int { return cap(c.running) }

// callee is a provider or provisioner.
type callee interface{ ForDisplay() string }

// take waits until fewer calls than the limit are running and takes a place for one. A caller that
// has a place must not take a second one before it releases the first: all places could be taken by
// callers that wait for another one.
func (c *calls) take() (release func()) {
	start := time.Now()
	c.running <- struct{}{}
	if c.timings != nil {
		c.timings.Waited("for one of -parallelism places", time.Since(start))
	}
	return func() { <-c.running }
}

// callProvider calls a provider as soon as fewer calls than the limit are running. addr is the
// instance that the call is for, if any. The next call may start as soon as call returns, so call
// must record whatever has to be recorded first.
func callProvider[T any](c *calls, on callee, method string, addr addrs.AbsInstance, call func() T) T {
	defer c.take()()
	return callInPlace(c, on, method, addr, call)
}

// callInPlace calls a provider for a caller that has a place. Operations that are shown while they
// run have one from their first event to their last, so no more of them are shown than the limit.
func callInPlace[T any](c *calls, on callee, method string, addr addrs.AbsInstance, call func() T) T {
	if c.timings != nil {
		defer c.timings.Call(timings.Call{Provider: on.ForDisplay(), Method: method}, addr)()
	}
	return call()
}
