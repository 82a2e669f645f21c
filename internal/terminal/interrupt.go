package terminal

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
)

// Interrupts counts the user's requests to end: the first closes Stop, the second Kill. A further
// one from the keyboard ends the program at once, since nothing else ends an expression that never
// finishes; but not while changes are being recorded.
type Interrupts struct {
	Stop, Kill chan struct{}

	Recording atomic.Int32 // number of state changes in progress

	mu      sync.Mutex
	count   int
	stopped bool            // Stop is closed
	notify  func(count int) // informs the user of an interrupt; may be nil
	failed  func(err error) // informs the user of the argument of Fail; may be nil
}

// NewInterrupts returns a counter without interrupts.
func NewInterrupts() *Interrupts {
	return &Interrupts{Stop: make(chan struct{}), Kill: make(chan struct{})}
}

// Watch turns signals into interrupts until the returned function is called. SIGPIPE is caught by a
// handler instead of being ignored, since child processes would inherit the latter.
func (i *Interrupts) Watch() (stop func()) {
	ends, pipes := make(chan os.Signal, 4), make(chan os.Signal, 1)
	signal.Notify(ends, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(pipes, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-ends:
				if i.Add() > 2 && s == os.Interrupt && i.Recording.Load() == 0 {
					os.Exit(1)
				}
			case <-pipes:
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(ends)
		close(done) // SIGPIPE stays caught: the last output may go to a closed pipe, too
	}
}

// Add counts an interrupt and returns the number of interrupts so far.
func (i *Interrupts) Add() int {
	i.mu.Lock()
	i.count++
	count, notify := i.count, i.notify
	switch count {
	case 1:
		i.stop()
	case 2:
		close(i.Kill)
	}
	i.mu.Unlock()
	if notify != nil && count <= 2 {
		notify(count)
	}
	return count
}

// stop closes Stop, unless it is closed. The caller holds i.mu.
func (i *Interrupts) stop() {
	if !i.stopped {
		i.stopped = true
		close(i.Stop)
	}
}

// Fail closes Stop because of an error. The next interrupt is still the first.
func (i *Interrupts) Fail(err error) {
	i.mu.Lock()
	failed := i.failed
	i.stop()
	i.mu.Unlock()
	if failed != nil {
		go failed(err) // a printer may be waiting for the caller
	}
}

// Record keeps the program alive until the returned function is called.
func (i *Interrupts) Record() (done func()) {
	i.Recording.Add(1)
	return func() { i.Recording.Add(-1) }
}

// OnInterrupt sets the functions that inform the user of an interrupt, and of an error that ends the
// operation like one.
func (i *Interrupts) OnInterrupt(notify func(count int), failed func(error)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.notify, i.failed = notify, failed
}

// Stopped reports whether there was an interrupt, or an error that ended the operation like one.
func (i *Interrupts) Stopped() bool {
	select {
	case <-i.Stop:
		return true
	default:
		return false
	}
}

// Context returns a context that ends with the first interrupt. See UntilAbort for the second.
func (i *Interrupts) Context(ctx context.Context) (first context.Context, cancel func()) {
	second, cancelSecond := context.WithCancel(ctx)
	first, cancelFirst := context.WithCancel(context.WithValue(second, abortKey{}, second))
	go func() {
		select {
		case <-i.Stop:
			cancelFirst()
		case <-second.Done():
			return
		}
		select {
		case <-i.Kill:
			cancelSecond()
		case <-second.Done():
		}
	}()
	return first, func() { cancelFirst(); cancelSecond() }
}

// abortKey is the key of the context that ends with the second interrupt.
type abortKey struct{}

// UntilAbort returns a context with the values of ctx, which comes from Interrupts.Context, that
// only the second interrupt ends. It is for work that ends in an orderly way after the first one.
func UntilAbort(ctx context.Context) context.Context {
	second, ok := ctx.Value(abortKey{}).(context.Context)
	if !ok {
		return context.WithoutCancel(ctx)
	}
	return untilAbort{second, ctx}
}

type untilAbort struct {
	context.Context // the second interrupt
	values          context.Context
}

// Value implements context.Context.
func (c untilAbort) Value(key any) any { return c.values.Value(key) }
