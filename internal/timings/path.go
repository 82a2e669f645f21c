package timings

import (
	"slices"
	"sync"
	"time"

	"tofu/internal/dag"
)

// Walk records when the nodes of a graph began and ended during one walk.
type Walk struct {
	recorder *Recorder
	name     string
	began    time.Time
	nodes    []span // times by node

	mu    sync.Mutex // guards the fields below
	parts int
	last  map[dag.ID]*Part // for each node, the part that ended last
}

// Part is a part of the work on a node, for example the plan of one instance. It can wait for other
// parts, of the same node or of other nodes. The methods of a nil pointer do nothing.
type Part struct {
	span
	walk   *Walk
	node   dag.ID
	after  dag.ID // node whose visit started the part
	before *Part  // last part that this one waited for; nil if it waited for none
	name   func() string
}

// span is the time that a node took, relative to the beginning of the walk. If a node was not
// visited, end is 0.
type span struct{ start, end time.Duration }

// path is the chain of nodes that determined the duration of a walk.
type path struct {
	name  string
	nodes int // number of nodes in the graph
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

// Begin records the start of a node whose work begins before the node is visited.
func (w *Walk) Begin(node dag.ID) {
	if w != nil {
		w.nodes[node].start = time.Since(w.began)
	}
}

// Visit records the start of a node, unless Begin has already recorded it. The returned function
// records its end. Each node is visited once.
func (w *Walk) Visit(node dag.ID) (end func()) {
	if w == nil {
		return func() {}
	}
	if w.nodes[node].start == 0 {
		w.Begin(node)
	}
	return func() { w.nodes[node].end = max(1, time.Since(w.began)) }
}

// Part returns a new part of a node's work. after is the node whose visit started the part. name
// returns the name of the part; Walk.End calls it.
func (w *Walk) Part(node, after dag.ID, name func() string) *Part {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts++
	return &Part{walk: w, node: node, after: after, name: name}
}

// Begin records the start of a part. before is the last part that it waited for, or nil.
func (p *Part) Begin(before *Part) {
	if p != nil {
		p.start, p.before = time.Since(p.walk.began), before
	}
}

// End records the end of a part.
func (p *Part) End() {
	if p == nil {
		return
	}
	w := p.walk
	w.mu.Lock()
	defer w.mu.Unlock()
	p.end = max(1, time.Since(w.began))
	if w.last == nil {
		w.last = map[dag.ID]*Part{}
	}
	w.last[p.node] = p
}

// End determines the path. It starts at the node that ended last, and continues with what that node
// waited for last: its parts, or the dependency that ended last. name returns the name of a node.
func (w *Walk) End(g *dag.Graph, name func(dag.ID) string) {
	if w == nil {
		return
	}
	p := path{name: w.name, nodes: len(w.nodes) + w.parts, took: time.Since(w.began)}
	at := none
	for node := range w.nodes {
		at = w.later(at, dag.ID(node))
	}
	for at >= 0 {
		what, s, after := name(at), w.nodes[at], none
		if last := w.last[at]; last != nil { // the rest of the node's work came after its parts
			p.add(what, span{last.end, max(s.end, last.end)}, last.end)
			first := p.addParts(last)
			what, s = first.name(), first.span
			if first.node != first.after {
				after = first.after
			}
			at = first.node
		}
		if after == none {
			for _, need := range g.Needs(at) {
				after = w.later(after, need)
			}
		}
		p.add(what, s, w.endOf(after))
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

// addParts adds a part, and the parts that it waited for, to a path, in reverse order. It returns
// the first of these parts without adding it.
func (p *path) addParts(part *Part) *Part {
	for part.before != nil {
		p.add(part.name(), part.span, part.before.end)
		part = part.before
	}
	return part
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
	return w.nodes[node].end
}

// later returns the node that ended later, or a if both ended at the same time. A negative a
// stands for no node. If b was not visited, later returns a.
func (w *Walk) later(a, b dag.ID) dag.ID {
	if w.nodes[b].end == 0 || a >= 0 && w.nodes[a].end >= w.nodes[b].end {
		return a
	}
	return b
}
