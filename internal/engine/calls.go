package engine

import (
	"time"

	"tofu/internal/addrs"
	"tofu/internal/timings"
)

// calls limits how many calls to providers and provisioners run at the same time.
type calls struct {
	slots   CallSlots
	timings *timings.Recorder // optional
}

// CallSlots limits how many calls run at the same time. Several operations can share it, and then
// share the limit.
type CallSlots chan struct{}

// NewCallSlots returns slots for n calls.
func NewCallSlots(n int) CallSlots { return make(CallSlots, n) }

func newCalls(limit int, slots CallSlots, t *timings.Recorder) *calls {
	if slots == nil {
		slots = NewCallSlots(limit)
	}
	return &calls{slots: slots, timings: t}
}

func (c *calls) limit() int { return cap(c.slots) }

// callee is a provider or provisioner.
type callee interface{ ForDisplay() string }

// acquire waits for a free slot, takes it, and returns the function that releases it. A caller that
// has a slot must not acquire another one. If all slots belonged to such callers, they would wait
// for each other forever.
func (c *calls) acquire() (release func()) {
	start := time.Now()
	c.slots <- struct{}{}
	if c.timings != nil {
		c.timings.Waited("for one of the -parallelism slots", time.Since(start))
	}
	return func() { <-c.slots }
}

// leave releases the caller's slot, so that operations for which the caller waits can use it. The
// returned function acquires a slot again.
func (c *calls) leave() (back func()) {
	<-c.slots
	return func() { c.acquire() }
}

// callProvider waits for a free slot and calls a provider. addr is the resource instance of the
// call, or zero. The slot is released when call returns. Therefore call itself must record
// everything that has to be recorded before the next call starts.
func callProvider[T any](c *calls, on callee, method string, addr addrs.AbsInstance, call func() T) T {
	defer c.acquire()()
	return callWithSlot(c, on, method, addr, call)
}

// callWithSlot calls a provider for a caller that already has a slot. An operation with progress
// events keeps its slot from the first event to the last, so the number of operations shown as
// running never exceeds the limit.
func callWithSlot[T any](c *calls, on callee, method string, addr addrs.AbsInstance, call func() T) T {
	if c.timings != nil {
		defer c.timings.Call(timings.Call{Provider: on.ForDisplay(), Method: method}, addr)()
	}
	return call()
}
