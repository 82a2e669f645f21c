package timings

import (
	"slices"
	"time"

	"tofu/internal/dag"
)

// Walk records when the nodes of one graph began and ended.
type Walk struct {
	recorder *Recorder
	name     string
	began    time.Time
	nodes    []span // by node
}

// span is a node's time, counted from the beginning of the walk. A node that was not visited has an
// end of 0.
type span struct{ start, end time.Duration }

// path is the chain of nodes that determined the duration of a walk.
type path struct {
	name  string
	nodes int // in the graph
	took  time.Duration
	steps []step // in the order in which they ran
}

// step is a node on a path. Idle is the time between the end of its last dependency and its own
// start.
type step struct {
	node       dag.ID
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

// Begin records the start of a node whose work begins before its visit.
func (w *Walk) Begin(node dag.ID) {
	if w != nil {
		w.nodes[node].start = time.Since(w.began)
	}
}

// Visit records the start of a node, unless it has begun before. The returned function records its
// end. Each node is visited once.
func (w *Walk) Visit(node dag.ID) (end func()) {
	if w == nil {
		return func() {}
	}
	if w.nodes[node].start == 0 {
		w.Begin(node)
	}
	return func() { w.nodes[node].end = max(1, time.Since(w.began)) }
}

// End determines the path: from the node that ended last back to its dependency that ended last,
// and so on. name returns the name of a node.
func (w *Walk) End(g *dag.Graph, name func(dag.ID) string) {
	if w == nil {
		return
	}
	p := path{name: w.name, nodes: len(w.nodes), took: time.Since(w.began)}
	at := none
	for node := range w.nodes {
		at = w.later(at, dag.ID(node))
	}
	for at >= 0 {
		before, since := none, time.Duration(0)
		for _, need := range g.Needs(at) {
			before = w.later(before, need)
		}
		if before >= 0 {
			since = w.nodes[before].end
		}
		s := w.nodes[at]
		p.steps = append(p.steps, step{node: at, took: s.end - s.start, idle: max(0, s.start-since)})
		at = before
	}
	slices.Reverse(p.steps)
	for i := range p.steps {
		p.steps[i].name = name(p.steps[i].node)
	}
	w.recorder.mu.Lock()
	defer w.recorder.mu.Unlock()
	w.recorder.paths = append(w.recorder.paths, p)
}

// later returns the node that ended later. a may be none, and b counts only if it was visited.
func (w *Walk) later(a, b dag.ID) dag.ID {
	if w.nodes[b].end == 0 || a >= 0 && w.nodes[a].end >= w.nodes[b].end {
		return a
	}
	return b
}
