package dag

import (
	"context"
	"slices"
	"sync"
)

// Outcome is how a vertex ended.
type Outcome uint8

const (
	Skipped Outcome = iota // not visited: something it waits for did not succeed, or the context ended
	Done
	Failed
)

// Walk visits every vertex after everything it waits for, at most workers at a time, and returns how each ended. visit reports
// whether it succeeded; what waits for a failed vertex is skipped, everything else goes on. When ctx ends, nothing new is started.
//
// Of the vertices that are ready, the one that became so last comes first: what was begun is finished before more is begun, which keeps
// memory and half-done work small. Vertices that wait for nothing start in the order in which they were added.
//
// The graph must have no cycle; vertices on one are skipped.
func Walk(ctx context.Context, g *Graph, workers int, visit func(ID) bool) []Outcome {
	w := &walker{
		visit: visit, dependents: g.Dependents(),
		pending: make([]int32, g.Len()), outcome: make([]Outcome, g.Len()), blocked: make([]bool, g.Len()),
	}
	w.wake.L = &w.mu
	for id, needs := range g.needs {
		w.pending[id] = int32(len(needs))
		if len(needs) == 0 {
			w.ready = append(w.ready, ID(id))
		}
	}
	// The stack is popped from its end, so it is turned round.
	slices.Reverse(w.ready)
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock() // or a worker could be between its look at ctx and its sleep
		defer w.mu.Unlock()
		w.wake.Broadcast()
	})
	defer stop()

	var wg sync.WaitGroup
	for range max(1, min(workers, g.Len())) {
		wg.Go(func() { w.work(ctx) })
	}
	wg.Wait()
	return w.outcome
}

type walker struct {
	visit      func(ID) bool
	dependents [][]ID

	mu      sync.Mutex // guards everything below
	wake    sync.Cond
	ready   []ID
	pending []int32
	blocked []bool // something the vertex waits for did not succeed
	outcome []Outcome
	running int
}

// work visits what becomes ready, until nothing can any more. A panic of visit ends the program as it would anywhere else.
func (w *walker) work(ctx context.Context) {
	for {
		id, ok := w.next(ctx)
		if !ok {
			return
		}
		outcome := Failed
		if w.visit(id) {
			outcome = Done
		}
		w.mu.Lock()
		w.running--
		w.outcome[id] = outcome
		w.finish(id)
		w.mu.Unlock()
	}
}

// next waits for a vertex to visit; there is none when the walk is over. Those that are blocked are passed over.
func (w *walker) next(ctx context.Context) (ID, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.ready) == 0 && w.running > 0 && ctx.Err() == nil {
			w.wake.Wait()
		}
		if len(w.ready) == 0 || ctx.Err() != nil {
			w.wake.Broadcast()
			return 0, false
		}
		id := w.ready[len(w.ready)-1]
		w.ready = w.ready[:len(w.ready)-1]
		if !w.blocked[id] {
			w.running++
			return id, true
		}
		w.finish(id)
	}
}

// finish releases what waited for id. The caller holds the lock.
func (w *walker) finish(id ID) {
	woken := 0
	for _, from := range w.dependents[id] {
		if w.outcome[id] != Done {
			w.blocked[from] = true
		}
		if w.pending[from]--; w.pending[from] == 0 {
			w.ready = append(w.ready, from)
			woken++
		}
	}
	if woken == 1 && w.running == 0 {
		return // this worker takes it itself
	}
	if woken > 0 || w.running == 0 {
		w.wake.Broadcast()
	}
}
