package timings

import (
	"slices"
	"sync"
	"time"

	"tofu/internal/dag"
)

// Walk records when the vertices of a graph began and ended during one walk.
type Walk struct {
	recorder *Recorder
	name     string
	began    time.Time
	nodes    []span // times of the graph's own vertices

	mu    sync.Mutex // guards the fields below
	added []addedSpan
}

// addedSpan is the time of a vertex that was added during the walk.
type addedSpan struct {
	*span
	name func() string // nil if the vertex isn't shown
}

// span is the time that a node took, relative to the beginning of the walk. If a node was not
// visited, end is 0.
type span struct{ start, end time.Duration }

// path is the chain of nodes that determined the duration of a walk.
type path struct {
	name  string
	nodes int // number of vertices in the graph
	took  time.Duration
	steps []step // steps in the order in which they ran
	// within holds the paths of the longest steps, if the nodes are root modules.
	within []path
}

// step is a node on a path. Its idle time is the time between the end of its last dependency and
// its own start.
type step struct {
	name       string
	took, idle time.Duration
}

const none dag.ID = -1

// Walk starts recording a walk over the given number of nodes.
func (r *Recorder) Walk(name string, nodes int) *Walk {
	if r == nil {
		return nil
	}
	return &Walk{recorder: r, name: name, began: time.Now(), nodes: make([]span, nodes)}
}

// Add adds a vertex to the recording of a walk. Its ID follows those of all others. name returns its
// name; End calls it. If name is nil, the vertex isn't shown.
func (w *Walk) Add(name func() string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.added = append(w.added, addedSpan{&span{}, name})
}

// of returns the times of a vertex.
func (w *Walk) of(node dag.ID) *span {
	if int(node) < len(w.nodes) {
		return &w.nodes[node]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.added[int(node)-len(w.nodes)].span
}

// Visit records the start of a visit. The returned function records its end. Each vertex is visited
// once.
func (w *Walk) Visit(node dag.ID) (end func()) {
	if w == nil {
		return func() {}
	}
	of := w.of(node)
	of.start = time.Since(w.began)
	return func() { of.end = max(1, time.Since(w.began)) }
}

// End determines the path. It starts at the vertex that ended last, and continues with the dependency
// that ended last. g is the graph with the added vertices. name returns the name of a vertex of the
// original graph.
func (w *Walk) End(g *dag.Graph, name func(dag.ID) string) {
	if w == nil {
		return
	}
	p := path{name: w.name, nodes: g.Len(), took: time.Since(w.began)}
	at := none
	for node := range dag.ID(g.Len()) {
		at = w.later(at, node)
	}
	for at >= 0 {
		after := none
		for _, need := range g.Needs(at) {
			after = w.later(after, need)
		}
		if shown := w.nameOf(at, name); shown != nil {
			p.add(shown(), *w.of(at), w.endOf(after))
		}
		at = after
	}
	slices.Reverse(p.steps)
	w.recorder.mu.Lock()
	defer w.recorder.mu.Unlock()
	for _, root := range p.longest(mostRoots) {
		p.within = append(p.within, w.recorder.inRoots[root]...)
	}
	clear(w.recorder.inRoots)
	w.recorder.paths = append(w.recorder.paths, p)
}

// nameOf returns a function that returns the name of a vertex, or nil if the vertex isn't shown. name
// is for vertices of the original graph.
func (w *Walk) nameOf(node dag.ID, name func(dag.ID) string) func() string {
	if int(node) < len(w.nodes) {
		return func() string { return name(node) }
	}
	return w.added[int(node)-len(w.nodes)].name
}

// add adds a step. since is the end of the last thing that the step waited for.
func (p *path) add(name string, s span, since time.Duration) {
	p.steps = append(p.steps, step{name: name, took: s.end - s.start, idle: max(0, s.start-since)})
}

// endOf returns the end of a node, or 0 if node is negative.
func (w *Walk) endOf(node dag.ID) time.Duration {
	if node < 0 {
		return 0
	}
	return w.of(node).end
}

// later returns the node that ended later, or a if both ended at the same time. A negative a
// stands for no node. If b was not visited, later returns a.
func (w *Walk) later(a, b dag.ID) dag.ID {
	if w.of(b).end == 0 || a >= 0 && w.of(a).end >= w.of(b).end {
		return a
	}
	return b
}
