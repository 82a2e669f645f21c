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
	// Queued, if it is not nil, is called when a vertex is ready to be visited. The function that it
	// returns is called when the visit begins. Queued must be set before the walk, and must not call the
	// walker.
	Queued func() (started func())
	// Tolerates, if it is not nil, reports whether a vertex, its first argument, is visited even if
	// a dependency, its second argument, does not succeed. It must be set before the walk.
	Tolerates func(id, dependency ID) bool

	visit   func(ID) bool
	stopped func() bool // reports whether the walk ends without visiting further vertices
	workers sync.WaitGroup
	given   int // number of vertices of the graph; the IDs of added vertices follow theirs

	mu         sync.Mutex // guards everything below
	wake       sync.Cond
	needs      [][]ID // those of the graph, until vertices are added
	dependents [][]ID
	added      []func(ok bool) bool // visit the added vertices; nil after the visit
	always     map[ID]bool          // the added vertices that are visited even if they are blocked
	ready      []ID                 // a heap if LowestFirst is true, otherwise a stack
	pending    []int32              // number of dependencies that a vertex still waits for; ended once its outcome is decided
	blocked    []bool               // whether a dependency did not succeed, by ID
	outcome    []Outcome
	started    []func() // by ID, the result of Queued; nil if Queued is nil
	running    int
	spare      int         // number of workers that may still be started, if vertices are added
	awaits     map[ID][]ID // vertices that running visits are waiting for, or have waited for; see Await
	surplus    int         // number of workers that must end
}

const ended = -1 // value in Walker.pending of a vertex whose outcome is decided

// NewWalker returns a walk over a graph, which must not change afterwards.
func NewWalker(g *Graph) *Walker {
	w := &Walker{
		given: g.Len(), needs: g.needs, dependents: g.Dependents(),
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
	if w.Queued != nil {
		w.started = make([]func(), w.given)
	}
	for id, needs := range w.needs {
		if len(needs) == 0 {
			w.ready = append(w.ready, ID(id))
			w.queue(ID(id))
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

	first := max(1, min(workers, w.given))
	w.spare = workers - first
	for range first {
		w.workers.Go(w.work)
	}
	w.workers.Wait()
	return w.outcome
}

// Extend adds vertices during a visit. The elements of visits are called to visit them, and report
// whether they succeeded. One more vertex waits for all of these, and is visited by last. It is visited
// even if a dependency did not succeed; the argument of last says whether all did.
//
// Extend calls connect with the ID of the first new vertex; the others follow it, last included. No new
// vertex is visited before connect returns. connect must not call methods of the walker. It calls its
// argument wait to make a vertex, the first argument of wait, wait for another one. The first one must
// be new, or wait for the vertex that is being visited.
func (w *Walker) Extend(visits []func() bool, last func(ok bool) bool, connect func(first ID, wait func(id, on ID))) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first, n := len(w.pending), len(visits)+1
	if first == w.given { // these are the graph's own
		w.needs = slices.Clone(w.needs)
	}
	for _, visit := range visits {
		w.added = append(w.added, func(bool) bool { return visit() })
	}
	w.added = append(w.added, last)
	w.needs, w.dependents = append(w.needs, make([][]ID, n)...), append(w.dependents, make([][]ID, n)...)
	w.pending, w.blocked = append(w.pending, make([]int32, n)...), append(w.blocked, make([]bool, n)...)
	w.outcome = append(w.outcome, make([]Outcome, n)...)
	if w.started != nil {
		w.started = append(w.started, make([]func(), n)...)
	}
	if w.always == nil {
		w.always = map[ID]bool{}
	}
	end := ID(first + len(visits))
	w.always[end] = true
	for id := first; id < int(end); id++ {
		w.connect(end, ID(id))
	}
	connect(ID(first), w.connect)
	for id := int(end); id >= first; id-- { // vertices are popped from the end
		if w.pending[id] == 0 {
			w.push(ID(id))
		}
	}
	for ; n > 0 && w.spare > 0; n, w.spare = n-1, w.spare-1 {
		w.workers.Go(w.work)
	}
	w.wake.Broadcast()
}

// connect makes a vertex, which has not been visited, wait for another one. The caller must hold the
// lock.
func (w *Walker) connect(id, on ID) {
	w.needs[id] = append(w.needs[id], on)
	if w.pending[on] == ended {
		w.block(id, on)
		return
	}
	w.dependents[on] = append(w.dependents[on], id)
	w.pending[id]++
}

// block blocks a vertex if a dependency of it, on, did not succeed. The caller must hold the lock.
func (w *Walker) block(id, on ID) {
	if w.outcome[on] != Done && (w.Tolerates == nil || !w.Tolerates(id, on)) {
		w.blocked[id] = true
	}
}

// Graph returns the graph with the vertices and edges that were added during the walk. It must be
// called after the walk.
func (w *Walker) Graph() *Graph { return &Graph{needs: w.needs} }

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

// Outcome returns the outcome of a vertex. It returns false if the vertex is not finished.
func (w *Walker) Outcome(id ID) (_ Outcome, finished bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outcome[id], w.pending[id] == ended
}

// push makes a vertex ready. The caller must hold the lock.
func (w *Walker) push(id ID) {
	w.queue(id)
	if w.LowestFirst {
		heap.Push((*lowest)(&w.ready), id)
		return
	}
	w.ready = append(w.ready, id)
}

// queue calls Queued for a vertex that is ready.
func (w *Walker) queue(id ID) {
	if w.Queued != nil {
		w.started[id] = w.Queued()
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
		v, ok := w.next()
		if !ok {
			return
		}
		outcome := Failed
		if v.run(w.visit) {
			outcome = Done
		}
		w.mu.Lock()
		w.running--
		w.outcome[v.id] = outcome
		w.finish(v.id)
		w.mu.Unlock()
	}
}

// vertex is a vertex that is about to be visited.
type vertex struct {
	id      ID
	started func()             // the result of Queued; may be nil
	added   func(ok bool) bool // visits the vertex; nil for a vertex of the graph
	ok      bool               // whether all dependencies succeeded
}

// run visits the vertex. visit visits a vertex of the graph.
func (v vertex) run(visit func(ID) bool) bool {
	if v.started != nil {
		v.started()
	}
	if v.added != nil {
		return v.added(v.ok)
	}
	return visit(v.id)
}

// next waits until a vertex can be visited and returns it. It returns false at the end of the walk,
// or if there is one worker too many. It skips blocked vertices.
func (w *Walker) next() (vertex, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.ready) == 0 && w.running > 0 && w.surplus == 0 && !w.stopped() {
			w.wake.Wait()
		}
		if w.surplus > 0 {
			w.surplus--
			w.wake.Broadcast() // the worker ends, so another one must continue
			return vertex{}, false
		}
		if len(w.ready) == 0 || w.stopped() {
			w.wake.Broadcast()
			return vertex{}, false
		}
		id := w.pop()
		if !w.blocked[id] || w.always[id] {
			w.running++
			return w.take(id), true
		}
		w.finish(id)
	}
}

// take returns a vertex for its visit. The caller must hold the lock.
func (w *Walker) take(id ID) vertex {
	v := vertex{id: id, ok: !w.blocked[id]}
	if w.started != nil {
		v.started, w.started[id] = w.started[id], nil
	}
	if at := int(id) - w.given; at >= 0 {
		v.added, w.added[at] = w.added[at], nil
	}
	return v
}

// finish records that the vertex id is finished. It makes the dependents ready that wait for
// nothing else, and blocks all dependents if the vertex did not succeed. The caller must hold the lock.
func (w *Walker) finish(id ID) {
	woken := 0
	w.pending[id] = ended
	for _, from := range w.dependents[id] {
		w.block(from, id)
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
