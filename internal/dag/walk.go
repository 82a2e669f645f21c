package dag

import (
	"container/heap"
	"context"
	"slices"
	"sync"
)

// Outcome is the result of visiting a vertex.
type Outcome uint8

const (
	Skipped Outcome = iota // not visited, because a dependency did not succeed or the context ended
	Done
	Failed
)

// Walker is one walk over a graph.
type Walker struct {
	// LowestFirst must be set before the walk. If it is true, the vertex with the lowest ID is
	// visited first among the vertices that are ready. As far as possible, vertices are then
	// visited in the order in which they were added.
	LowestFirst bool
	// Ready, if it is not nil, is called for each vertex that is ready to be visited. It must be set
	// before the walk, and must not call the walker.
	Ready func(ID)
	// Tolerates, if it is not nil, reports whether a vertex, its first argument, is visited even if
	// a dependency, its second argument, does not succeed. It must be set before the walk.
	Tolerates func(id, dependency ID) bool

	needs      [][]ID
	dependents [][]ID
	visit      func(ID) bool
	stopped    func() bool // reports whether the walk ends without visiting further vertices
	workers    sync.WaitGroup

	mu      sync.Mutex // guards everything below
	wake    sync.Cond
	ready   []ID    // a heap if LowestFirst is true, otherwise a stack
	pending []int32 // number of dependencies and holds that a vertex still waits for; ended once its outcome is decided
	blocked []bool  // whether a dependency did not succeed, by ID
	outcome []Outcome
	running int
	held    int                    // number of calls to Hold that are not released yet
	watches map[ID][]func(Outcome) // functions to call when the vertex is finished; see Watch
	due     []func()               // functions from watches that must be called now
	awaits  map[ID][]ID            // vertices that running visits are waiting for, or have waited for; see Await
	surplus int                    // number of workers that must end
}

const ended = -1 // value in Walker.pending of a vertex whose outcome is decided

// NewWalker returns a walk over a graph, which must not change afterwards.
func NewWalker(g *Graph) *Walker {
	w := &Walker{
		needs: g.needs, dependents: g.Dependents(),
		pending: make([]int32, g.Len()), outcome: make([]Outcome, g.Len()), blocked: make([]bool, g.Len()),
	}
	w.wake.L = &w.mu
	for id, needs := range g.needs {
		w.pending[id] = int32(len(needs))
	}
	return w
}

// Walk visits every vertex after its dependencies and returns the outcomes. The argument workers
// limits the number of visits that run at the same time. visit reports whether it succeeded.
// Dependents of a failed vertex are skipped; all others are visited. After ctx ends, no further
// vertex is visited.
//
// Without LowestFirst, the vertex that became ready last is visited first, so that started work is
// finished before new work starts. This limits memory and the amount of incomplete work. Vertices
// without dependencies start in the order in which they were added.
//
// Vertices on a cycle, and their dependents, are skipped.
func (w *Walker) Walk(ctx context.Context, workers int, visit func(ID) bool) []Outcome {
	w.visit, w.stopped = visit, func() bool { return ctx.Err() != nil }
	for id, needs := range w.needs {
		if len(needs) == 0 {
			w.ready = append(w.ready, ID(id))
			w.tell(ID(id))
		}
	}
	// With LowestFirst, ready is a heap. The IDs are in ascending order, so it already is one.
	if !w.LowestFirst {
		slices.Reverse(w.ready) // because vertices are popped from the end
	}
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock() // so that no worker is between checking ctx and waiting
		defer w.mu.Unlock()
		w.wake.Broadcast()
	})
	defer stop()

	for range max(1, min(workers, len(w.needs))) {
		w.workers.Go(w.work)
	}
	w.workers.Wait()
	for id, left := range w.watches {
		for _, f := range left {
			f(w.outcome[id])
		}
	}
	return w.outcome
}

// Await is called during the visit of a vertex, its first argument. It waits until another vertex,
// its second argument, is finished, and returns the outcome. Another worker runs in the meantime.
// If the awaited vertex itself waits for the visited one, directly or indirectly, Await returns
// false at once. If the walk is stopped first, the outcome is Skipped.
func (w *Walker) Await(visited, on ID) (Outcome, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waitsFor(on, visited) {
		return Skipped, false
	}
	if w.awaits == nil {
		w.awaits = map[ID][]ID{}
	}
	w.awaits[visited] = append(w.awaits[visited], on)
	w.workers.Go(w.work)
	for w.pending[on] != ended && !w.stopped() {
		w.wake.Wait()
	}
	w.surplus++
	return w.outcome[on], true
}

// waitsFor reports whether the vertex id waits for the vertex other, directly or through others.
// The caller must hold the lock.
func (w *Walker) waitsFor(id, other ID) bool {
	left := func(id ID) []ID {
		if w.pending[id] == ended {
			return nil
		}
		return slices.Concat(w.needs[id], w.awaits[id])
	}
	for reached := range Reachable([]ID{id}, left) {
		if reached == other {
			return true
		}
	}
	return false
}

// Hold makes a vertex wait until release is called, in addition to waiting for its dependencies. If
// release is called with ok = false, the vertex is skipped. Hold must be called while a dependency
// of the vertex is visited. The function release must be called exactly once.
func (w *Walker) Hold(id ID) (release func(ok bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held++
	w.pending[id]++
	return func(ok bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.held--
		w.pending[id]--
		w.blocked[id] = w.blocked[id] || !ok
		if w.pending[id] == 0 {
			w.push(id)
		}
		w.wake.Broadcast()
	}
}

// Watch calls f with the outcome of a vertex once it is finished, or at the end of the walk. If the
// vertex is finished already, Watch returns its outcome and true instead of calling f. Watch must be
// called while a vertex is visited or held.
func (w *Walker) Watch(id ID, f func(Outcome)) (_ Outcome, finished bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending[id] == ended {
		return w.outcome[id], true
	}
	if w.watches == nil {
		w.watches = map[ID][]func(Outcome){}
	}
	w.watches[id] = append(w.watches[id], f)
	return Skipped, false
}

// Finished reports whether a vertex was visited or skipped.
func (w *Walker) Finished(id ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending[id] == ended
}

// Dependents returns the vertices that depend directly on a vertex.
func (w *Walker) Dependents(id ID) []ID { return w.dependents[id] }

// callDue calls the functions in due. The caller must hold the lock, which is released during the
// calls.
func (w *Walker) callDue() {
	for len(w.due) > 0 {
		due := w.due
		w.due = nil
		w.mu.Unlock()
		for _, f := range due {
			f()
		}
		w.mu.Lock()
	}
}

// push makes a vertex ready. The caller must hold the lock.
func (w *Walker) push(id ID) {
	w.tell(id)
	if w.LowestFirst {
		heap.Push((*lowest)(&w.ready), id)
		return
	}
	w.ready = append(w.ready, id)
}

func (w *Walker) tell(id ID) {
	if w.Ready != nil {
		w.Ready(id)
	}
}

// pop returns the ready vertex to visit next. The caller must hold the lock.
func (w *Walker) pop() ID {
	if w.LowestFirst {
		return heap.Pop((*lowest)(&w.ready)).(ID)
	}
	id := w.ready[len(w.ready)-1]
	w.ready = w.ready[:len(w.ready)-1]
	return id
}

// lowest is a heap of IDs.
type lowest []ID

func (h lowest) Len() int           { return len(h) }
func (h lowest) Less(i, j int) bool { return h[i] < h[j] }
func (h lowest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *lowest) Push(id any) { *h = append(*h, id.(ID)) }

// Pop implements heap.Interface.
func (h *lowest) Pop() any {
	last := len(*h) - 1
	id := (*h)[last]
	*h = (*h)[:last]
	return id
}

// work visits vertices until none is left. A panic in visit is not recovered.
func (w *Walker) work() {
	for {
		id, ok := w.next()
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
		w.callDue()
		w.mu.Unlock()
	}
}

// next waits until a vertex can be visited and returns it. It returns false at the end of the walk,
// or if there is one worker too many. It skips blocked vertices.
func (w *Walker) next() (ID, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.ready) == 0 && w.running+w.held > 0 && w.surplus == 0 && !w.stopped() {
			w.wake.Wait()
		}
		if w.surplus > 0 {
			w.surplus--
			w.wake.Broadcast() // the worker ends, so another one must continue
			return 0, false
		}
		if len(w.ready) == 0 || w.stopped() {
			w.wake.Broadcast()
			return 0, false
		}
		id := w.pop()
		if !w.blocked[id] {
			w.running++
			return id, true
		}
		w.finish(id)
		w.callDue()
	}
}

// finish records that the vertex id is finished. It makes the dependents ready that wait for
// nothing else, blocks all dependents if the vertex did not succeed, and makes the functions that
// wait for the outcome due. The caller must hold the lock.
func (w *Walker) finish(id ID) {
	woken := 0
	w.pending[id] = ended
	for _, f := range w.watches[id] {
		w.due = append(w.due, func() { f(w.outcome[id]) })
	}
	delete(w.watches, id)
	for _, from := range w.dependents[id] {
		if w.outcome[id] != Done && (w.Tolerates == nil || !w.Tolerates(from, id)) {
			w.blocked[from] = true
		}
		w.pending[from]--
		if w.pending[from] == 0 {
			w.push(from)
			woken++
		}
	}
	if woken == 1 && w.running == 0 {
		return // this worker visits the only ready vertex next, so no other worker is needed
	}
	if woken > 0 || w.running == 0 || w.awaits != nil {
		w.wake.Broadcast()
	}
}
