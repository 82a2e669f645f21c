package engine

import (
	"cmp"
	"sync/atomic"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/pace"
	"tofu/internal/timings"
)

// calls limits how many calls to providers and provisioners run at the same time.
type calls struct {
	slots   *pace.Slots
	timings *timings.Recorder // optional
	stop    <-chan struct{}   // closed when nothing waits for a slot any more; nil for never
	helpers atomic.Int64      // goroutines that share work, each of which waits for a slot
}

func newCalls(env *Env, stop <-chan struct{}) *calls {
	slots := env.Slots
	if slots == nil {
		slots = pace.New(pace.Limits{Calls: cmp.Or(max(env.Parallelism, 0), pace.DefaultCalls)})
	}
	return &calls{slots: slots, timings: env.Timings, stop: stop}
}

// ready returns a function for work that is ready to start. Calling it when the work starts records
// the wait. As many workers run as there are slots, so most work waits for a worker instead of
// waiting in acquire. This counts only as far as the slots were in use: other work competes for
// processors, and more slots would not help.
func (c *calls) ready() (started func()) {
	if c.timings == nil {
		return func() {}
	}
	before := c.slots.Used()
	return func() {
		if wait := c.slots.Used() - before; wait >= time.Millisecond {
			c.timings.Waited(forSlot, wait)
		}
	}
}

const forSlot = "for one of the -parallelism slots"

func (c *calls) limit() int { return c.slots.Width() }

// share returns how many goroutines may share n pieces of work, all of which need slots: as many as there
// are slots, unless others have enough to use them all. done must be called when the work is done.
func (c *calls) share(n int) (helpers int, done func()) {
	limit := c.limit()
	helpers = min(n, limit)
	if c.helpers.Add(int64(helpers)) > int64(20*limit) { // they cost memory
		c.helpers.Add(int64(1 - helpers))
		helpers = 1
	}
	return helpers, func() { c.helpers.Add(int64(-helpers)) }
}

// callee is a provider or provisioner.
type callee interface{ ForDisplay() string }

// acquire waits for a free slot for a call of a provider, takes it, and returns the function that
// releases it. A caller that has a slot must not acquire another one. If all slots belonged to such
// callers, they would wait for each other forever. When the walk is halted, acquire doesn't wait.
func (c *calls) acquire(on callee, kind pace.Kind) (release func()) {
	start := time.Now()
	slot := c.slots.Acquire(on.ForDisplay(), kind, c.stop)
	if c.timings != nil {
		c.timings.Waited(forSlot, time.Since(start))
	}
	return slot.Release
}

// leave releases the caller's slot for a change, so that operations for which the caller waits can use
// it. The returned function acquires a slot again.
func (c *calls) leave(on callee) (back func()) {
	return c.slots.Leave(on.ForDisplay(), pace.Write)
}

// callProvider waits for a free slot and calls a provider. addr is the resource instance of the
// call, or zero. The slot is released when call returns. Therefore call itself must record
// everything that has to be recorded before the next call starts.
func callProvider[T any](c *calls, on callee, method string, addr addrs.AbsInstance, call func() T) T {
	defer c.acquire(on, pace.Local)()
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
