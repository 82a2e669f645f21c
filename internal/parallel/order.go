package parallel

import "sync"

// Order receives numbered results in any order and passes them on in ascending order. It is safe
// for concurrent use.
type Order[T any] struct {
	next func(i int, result T)

	mu      sync.Mutex
	passed  int
	waiting map[int]T
}

// InOrder returns an Order that calls the function next with result 0, then with result 1, and so
// on, without overlap.
func InOrder[T any](next func(i int, result T)) *Order[T] {
	return &Order[T]{next: next, waiting: make(map[int]T)}
}

// Add adds result i and passes on all results whose predecessors have been passed on. It must be
// called once for each number.
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
