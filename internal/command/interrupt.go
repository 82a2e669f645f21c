package command

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
)

// interrupts are the user's wishes to end: the first closes Stop, the second Kill. After that, one from the keyboard ends the program
// in the middle of whatever it is at, since nothing else ends an expression that takes for ever; but not while there is something to
// record.
type interrupts struct {
	Stop, Kill chan struct{}

	recording atomic.Int32 // how many changes of a state are under way

	mu     sync.Mutex
	count  int
	notify func(count int) // tells the user; nil for silence
}

func newInterrupts() *interrupts {
	return &interrupts{Stop: make(chan struct{}), Kill: make(chan struct{})}
}

// watch turns signals into interrupts until the returned function is called. A closed pipe is caught and ignored, by a handler
// rather than by ignoring the signal, since an ignored one would stay ignored in the programs that are started from here.
func (i *interrupts) watch() (stop func()) {
	ends, pipes := make(chan os.Signal, 4), make(chan os.Signal, 1)
	signal.Notify(ends, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(pipes, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-ends:
				if i.interrupt() > 2 && s == os.Interrupt && i.recording.Load() == 0 {
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
		close(done) // SIGPIPE stays caught: the last words may go to a closed pipe as well
	}
}

// interrupt counts one wish to end, and gives how many there were.
func (i *interrupts) interrupt() int {
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

// record keeps the program alive until the returned function is called.
func (i *interrupts) record() (done func()) {
	i.recording.Add(1)
	return func() { i.recording.Add(-1) }
}

// onInterrupt sets what tells the user about an interrupt.
func (i *interrupts) onInterrupt(notify func(count int)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.notify = notify
}

// stopped tells whether there was an interrupt.
func (i *interrupts) stopped() bool {
	select {
	case <-i.Stop:
		return true
	default:
		return false
	}
}

// contexts gives a context that ends with the first interrupt and one that ends with the second.
func (i *interrupts) contexts(ctx context.Context) (first, second context.Context, cancel func()) {
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
