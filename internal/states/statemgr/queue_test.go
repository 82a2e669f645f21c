package statemgr

import (
	"errors"
	"slices"
	"sync"
	"testing"
)

// TestQueue checks that items that are added while a transaction waits or runs share the next one,
// and that each caller gets the error of its own transaction.
func TestQueue(t *testing.T) {
	var q queue[int]
	var mu sync.Mutex
	var written [][]int
	bad := errors.New("bad")
	waiting, proceed := make(chan struct{}), make(chan struct{})
	first := make(chan error)
	go func() {
		first <- q.add(0, func(take func() []int) error {
			close(waiting)
			<-proceed
			written = append(written, take())
			return bad
		})
	}()
	<-waiting
	joined := make(chan error)
	for i := 1; i <= 3; i++ {
		go func() { joined <- q.add(i, nil) }() // write is nil, so calling it would panic
	}
	for size := 0; size < 4; { // until all have joined
		q.mu.Lock()
		size = len(q.next.items)
		q.mu.Unlock()
	}
	close(proceed)
	for range 3 {
		if err := <-joined; !errors.Is(err, bad) {
			t.Errorf("an item got %v", err)
		}
	}
	if err := <-first; !errors.Is(err, bad) {
		t.Errorf("the first item got %v", err)
	}
	if len(written) != 1 || len(written[0]) != 4 {
		t.Errorf("written: %v", written)
	}

	// A batch ends even if write fails before it takes the items. Each item is written exactly
	// once.
	if err := q.add(9, func(func() []int) error { return bad }); !errors.Is(err, bad) {
		t.Error(err)
	}
	written = nil
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			if err := q.add(i, func(take func() []int) error {
				mu.Lock()
				defer mu.Unlock()
				written = append(written, take())
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := slices.Concat(written...)
	slices.Sort(got)
	if len(got) != 100 || len(slices.Compact(got)) != 100 || got[99] != 99 {
		t.Errorf("%d items written: %v", len(got), got)
	}
}
