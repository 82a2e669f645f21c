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

	mu     sync.Mutex
	count  int
	notify func(count int) // informs the user; may be nil
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
		close(i.Stop)
	case 2:
		close(i.Kill)
	}
	i.mu.Unlock()
	if notify != nil && count <= 2 {
		notify(count)
	}
	return count
}

// Record keeps the program alive until the returned function is called.
func (i *Interrupts) Record() (done func()) {
	i.Recording.Add(1)
	return func() { i.Recording.Add(-1) }
}

// OnInterrupt sets the function that informs the user of an interrupt.
func (i *Interrupts) OnInterrupt(notify func(count int)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.notify = notify
}

// Stopped reports whether there was an interrupt.
func (i *Interrupts) Stopped() bool {
	select {
	case <-i.Stop:
		return true
	default:
		return false
	}
}

// Contexts returns a context that ends with the first interrupt and one that ends with the second.
func (i *Interrupts) Contexts(ctx context.Context) (first, second context.Context, cancel func()) {
	first, cancelFirst := context.WithCancel(ctx)
	second, cancelSecond := context.WithCancel(ctx)
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
	return first, second, func() { cancelFirst(); cancelSecond() }
}
