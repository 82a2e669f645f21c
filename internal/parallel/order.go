package parallel

import "sync"

// Order passes on results in the order of their numbers, which may come in any order. It is safe
// for concurrent use.
type Order[T any] struct {
	next func(i int, result T)

	mu      sync.Mutex
	passed  int
	waiting map[int]T
}

// InOrder returns an Order that calls next for the result of 0, then for that of 1, and so on.
// Calls don't overlap.
func InOrder[T any](next func(i int, result T)) *Order[T] {
	return &Order[T]{next: next, waiting: make(map[int]T)}
}

// Add adds the result of a number, and passes on all results that are due. There is one for each
// number.
func (o *Order[T]) Add(i int, result T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting[i] = result
	for {
		due, ok := o.waiting[o.passed]
		if !ok {
			return
		}
		delete(o.waiting, o.passed)
		o.next(o.passed, due)
		o.passed++
	}
}
