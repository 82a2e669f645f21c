package graphview

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// Span holds the times at which the work on an object began and ended, counted from the first event
// of the run.
type Span struct{ Began, Ended time.Duration }

// Run records when the objects of a plan were changed. A nil Run has no records.
type Run struct{ spans map[string]Span }

// Span returns the time during which a run worked on the object of a change. It returns false if
// the run didn't work on it.
func (r *Run) Span(c *plans.InstanceChange) (Span, bool) {
	if r == nil || c.Deposed != addrs.NotDeposed {
		return Span{}, false
	}
	span, ok := r.spans[c.Addr.String()]
	return span, ok
}

// runEvent is the part of an event of `apply -json` that says when an object was worked on.
type runEvent struct {
	Time time.Time `json:"@timestamp"`
	Type string    `json:"type"`
	Root string    `json:"root"` // root module, in an apply of many root modules
	Hook struct {
		Resource struct {
			Addr string `json:"addr"`
		} `json:"resource"`
	} `json:"hook"`
}

// maxLine limits the length of an event in bytes.
const maxLine = 16 << 20

// ReadRun reads the events that `apply -json` printed, or the events of one root module that `roots
// apply -json` printed. A replacement consists of two pieces of work on one object. Its span lasts
// from the beginning of the first piece to the end of the second.
func ReadRun(r io.Reader, root string) (*Run, error) {
	run := &Run{spans: map[string]Span{}}
	var first time.Time
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var e runEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("line %d is not an event of \"tofu apply -json\": %w", n, err)
		}
		if e.Root != "" && e.Root != root {
			continue
		}
		if first.IsZero() {
			first = e.Time
		}
		span, known := run.spans[e.Hook.Resource.Addr]
		switch e.Type {
		case "apply_start":
			if !known {
				span.Began = e.Time.Sub(first)
			}
			span.Ended = e.Time.Sub(first)
		case "apply_complete", "apply_errored":
			span.Ended = e.Time.Sub(first)
		default:
			continue
		}
		run.spans[e.Hook.Resource.Addr] = span
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the events: %w", err)
	}
	where := ""
	if root != "" {
		where = " in " + root
	}
	if len(run.spans) == 0 {
		return nil, fmt.Errorf("it contains no event for a changed object%s", where)
	}
	return run, nil
}

// CriticalPath returns the chain of changes that determined how long the run took, in the order in
// which they ran. It ends with the change that ended last. Before each change comes the one that
// ended last among the changes that it waited for.
func (g *Graph) CriticalPath(run *Run) []*plans.InstanceChange {
	n := &nearest{Graph: g, needs: g.Needs(), latest: make([]*done, len(g.Nodes)),
		best: make([]*done, len(g.Nodes)), seen: make([]bool, len(g.Nodes)), at: map[addrs.AbsInstance]*done{}}
	var last *done
	for i, node := range g.Nodes {
		for _, c := range node.Changes {
			span, ok := run.Span(c)
			if !ok {
				continue
			}
			d := &done{c, i, span.Ended}
			n.at[c.Addr] = d
			n.latest[i] = later(n.latest[i], d)
		}
		last = later(last, n.latest[i])
	}
	var path []*plans.InstanceChange
	for visited := map[*done]bool{}; last != nil && !visited[last]; {
		visited[last] = true
		path = append(path, last.change)
		last = n.before(last)
	}
	slices.Reverse(path)
	return path
}

// done is a change that a run has carried out.
type done struct {
	change *plans.InstanceChange
	node   int
	ended  time.Duration
}

// later returns the change that ended later, or a if both ended at the same time. Both may be nil.
func later(a, b *done) *done {
	if a == nil || b != nil && b.ended > a.ended {
		return b
	}
	return a
}

// nearest finds, among the changes that a change waits for directly or through nodes without
// changes, the one that ended last. Each node is visited once.
type nearest struct {
	*Graph
	needs  [][]int
	latest []*done // by node
	at     map[addrs.AbsInstance]*done
	best   []*done // by node: the result of through
	seen   []bool
}

func (n *nearest) before(d *done) *done {
	last := n.through(d.node)
	for _, addr := range n.Nodes[d.node].Reads[d.change.Addr] {
		last = later(last, n.at[addr])
	}
	return last
}

// through returns the change that ended last among the changes that a node waits for. It ignores
// references between single instances if the node itself has changes.
func (n *nearest) through(id int) *done {
	if n.seen[id] {
		return n.best[id]
	}
	n.seen[id] = true
	for _, e := range n.needs[id] {
		to := n.Edges[e].To
		switch {
		case n.Edges[e].Single && n.latest[id] != nil && n.latest[to] != nil: // see Node.Reads
		case n.latest[to] != nil:
			n.best[id] = later(n.best[id], n.latest[to])
		default:
			n.best[id] = later(n.best[id], n.through(to))
		}
	}
	return n.best[id]
}
