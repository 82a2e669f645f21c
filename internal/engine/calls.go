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

// callProvider calls a provider as soon as fewer calls than the limit are running. addr is the
// instance that the call is for, if any. The next call may start as soon as call returns, so call
// must record whatever has to be recorded first.
func callProvider[T any](c *calls, on callee, method string, addr addrs.AbsInstance, call func() T) T {
	if c.timings == nil {
		c.running <- struct{}{}
		defer func() { <-c.running }()
		return call()
	}
	start := time.Now()
	c.running <- struct{}{}
	c.timings.Waited("for one of -parallelism places", time.Since(start))
	end := c.timings.Call(timings.Call{Provider: on.ForDisplay(), Method: method}, addr)
	defer func() {
		<-c.running
		end()
	}()
	return call()
}
