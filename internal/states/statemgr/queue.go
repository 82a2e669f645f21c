package statemgr

import (
	"errors"
	"sync"
)

var errNotWritten = errors.New("internal error: the transaction did not end")

// A queue writes items in transactions, one transaction at a time. Each transaction writes all
// items that were added before it began, so items that arrive together share a transaction.
type queue[T any] struct {
	writing sync.Mutex // held during a transaction

	mu   sync.Mutex // guards next
	next *batch[T]  // the items of the next transaction; nil if there are none
}

// batch holds the items of one transaction.
type batch[T any] struct {
	items []T
	done  chan struct{} // closed after the transaction
	err   error
}

// add adds an item, waits for the item's transaction and returns the error of the transaction. The
// caller that begins a batch calls the function write to perform its transaction. Items may join
// the batch until that function calls its argument take, which returns them.
func (q *queue[T]) add(item T, write func(take func() []T) error) error {
	q.mu.Lock()
	b := q.next
	if b != nil {
		b.items = append(b.items, item)
		q.mu.Unlock()
		<-b.done
		return b.err
	}
	b = &batch[T]{items: []T{item}, done: make(chan struct{})}
	q.next = b
	q.mu.Unlock()

	q.writing.Lock()
	defer q.writing.Unlock()
	defer close(b.done)
	take := func() []T {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.next = nil
		return b.items
	}
	b.err = errNotWritten // stays set if write panics
	b.err = write(sync.OnceValue(take))
	q.mu.Lock()
	if q.next == b { // write failed before it took the items
		q.next = nil
	}
	q.mu.Unlock()
	return b.err
}
