package engine

import (
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/timings"
)

// calls limits how many calls to providers and provisioners run at the same time.
type calls struct {
	slots   *CallSlots
	timings *timings.Recorder // optional
}

// CallSlots limits how many calls run at the same time. Several operations can share it, and then
// share the limit.
type CallSlots struct {
	taken chan struct{}

	mu    sync.Mutex // guards the fields below
	busy  int        // number of slots in use
	since time.Time  // when busy last changed
	used  time.Duration
}

// NewCallSlots returns slots for n calls.
func NewCallSlots(n int) *CallSlots { return &CallSlots{taken: make(chan struct{}, n)} }

// turn records that one more or one less slot is in use. It returns for how long all slots have been
// in use. Times in which only some of them were in use count in proportion.
func (s *CallSlots) turn(by int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.busy > 0 {
		s.used += now.Sub(s.since) * time.Duration(s.busy) / time.Duration(cap(s.taken))
	}
	s.busy, s.since = s.busy+by, now
	return s.used
}

func newCalls(limit int, slots *CallSlots, t *timings.Recorder) *calls {
	if slots == nil {
		slots = NewCallSlots(limit)
	}
	return &calls{slots: slots, timings: t}
}

// ready returns a function for work that is ready to start. Calling it when the work starts records
// the wait. As many workers run as there are slots, so most work waits for a worker instead of
// waiting in acquire. This counts only as far as the slots were in use: other work competes for
// processors, and more slots would not help.
func (c *calls) ready() (started func()) {
	if c.timings == nil {
		return func() {}
	}
	before := c.slots.turn(0)
	return func() {
		if wait := c.slots.turn(0) - before; wait >= time.Millisecond {
			c.timings.Waited(forSlot, wait)
		}
	}
}

const forSlot = "for one of the -parallelism slots"

func (c *calls) limit() int { return cap(c.slots.taken) }

// callee is a provider or provisioner.
type callee interface{ ForDisplay() string }

// acquire waits for a free slot, takes it, and returns the function that releases it. A caller that
// has a slot must not acquire another one. If all slots belonged to such callers, they would wait
// for each other forever.
func (c *calls) acquire() (release func()) {
	start := time.Now()
	c.slots.taken <- struct{}{}
	c.slots.turn(1)
	if c.timings != nil {
		c.timings.Waited(forSlot, time.Since(start))
	}
	return c.release
}

func (c *calls) release() {
	c.slots.turn(-1)
	<-c.slots.taken
}

// leave releases the caller's slot, so that operations for which the caller waits can use it. The
// returned function acquires a slot again.
func (c *calls) leave() (back func()) {
	c.release()
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
