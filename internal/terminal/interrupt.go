package terminal

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Interrupts counts the user's requests to stop. The first one closes Stop, and the second one
// closes Kill. Signals that arrive within a second are one request. A third one from the keyboard
// ends the program at once, because nothing else can end the evaluation of an expression that never
// finishes. The program does not end while changes are being recorded.
type Interrupts struct {
	Stop, Kill chan struct{}

	Recording atomic.Int32 // number of state changes in progress
	Running   atomic.Int32 // number of operations that change objects now

	mu      sync.Mutex
	count   int
	last    time.Time       // when the last signal that was counted arrived
	stopped bool            // whether Stop is closed
	notify  func(count int) // informs the user of an interrupt; may be nil
	failed  func(err error) // informs the user of an error passed to Fail; may be nil
}

// NewInterrupts returns a counter that starts at zero.
func NewInterrupts() *Interrupts {
	return &Interrupts{Stop: make(chan struct{}), Kill: make(chan struct{})}
}

// Watch counts signals as interrupts until the returned function is called. SIGPIPE gets a handler
// instead of being ignored, because child processes inherit ignored signals.
func (i *Interrupts) Watch() (stop func()) {
	ends, pipes := make(chan os.Signal, 4), make(chan os.Signal, 1)
	signal.Notify(ends, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(pipes, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-ends:
				if i.signal(time.Now()) > 2 && s == os.Interrupt && i.Recording.Load() == 0 {
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
		close(done) // keep the handler of SIGPIPE: the reader of the last output may be gone, too
	}
}

// sameRequest is the time in which further signals belong to the same request to stop. Programs
// that run this one, such as timeout(1), send a signal both to the process and to its group, and the
// terminal sends it to the group too.
const sameRequest = time.Second

// signal counts a signal as an interrupt and returns the number of interrupts so far. It returns 0
// for a signal that is not counted, because it belongs to the previous one.
func (i *Interrupts) signal(now time.Time) int {
	i.mu.Lock()
	same := !i.last.IsZero() && now.Sub(i.last) < sameRequest
	if !same {
		i.last = now
	}
	i.mu.Unlock()
	if same {
		return 0
	}
	return i.Add()
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

// Fail closes Stop because of an error, and informs the user of it. It isn't counted as an
// interrupt.
func (i *Interrupts) Fail(err error) {
	i.mu.Lock()
	failed := i.failed
	i.stop()
	i.mu.Unlock()
	if failed != nil {
		// In the background, because the caller may hold a lock that a printer waits for.
		go failed(err)
	}
}

// Record prevents interrupts from ending the program at once until the returned function is called.
func (i *Interrupts) Record() (done func()) {
	i.Recording.Add(1)
	return func() { i.Recording.Add(-1) }
}

// OnInterrupt sets the functions that inform the user. notify is called for the first and the
// second interrupt, and failed for an error that ends the operation like an interrupt.
func (i *Interrupts) OnInterrupt(notify func(count int), failed func(error)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.notify, i.failed = notify, failed
}

// Stopped reports whether there was an interrupt, or an error that ended the operation like an
// interrupt.
func (i *Interrupts) Stopped() bool {
	select {
	case <-i.Stop:
		return true
	default:
		return false
	}
}

// Context returns a context that the first interrupt cancels. See UntilAbort for the second
// interrupt.
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

// abortKey is the key for the context that the second interrupt cancels.
type abortKey struct{}

// UntilAbort returns a context that only the second interrupt cancels, for work that ends in an
// orderly way after the first one. The new context has the values of ctx. If ctx does not come from
// Interrupts.Context, the new context is never canceled.
func UntilAbort(ctx context.Context) context.Context {
	second, ok := ctx.Value(abortKey{}).(context.Context)
	if !ok {
		return context.WithoutCancel(ctx)
	}
	return untilAbort{second, ctx}
}

type untilAbort struct {
	context.Context // canceled by the second interrupt
	values          context.Context
}

// Value implements context.Context.
func (c untilAbort) Value(key any) any { return c.values.Value(key) }
