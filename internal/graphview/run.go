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

// Span is when the work on an object began and ended, counted from the first event of the run.
type Span struct{ Began, Ended time.Duration }

// Run holds when the objects of a plan were changed. A nil Run knows nothing.
type Run struct{ spans map[string]Span }

// Span returns when the object of a change was worked on. It returns false if the run didn't work
// on it.
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
	Hook struct {
		Resource struct {
			Addr string `json:"addr"`
		} `json:"resource"`
	} `json:"hook"`
}

// maxLine limits the length of an event.
const maxLine = 16 << 20

// ReadRun reads the events that `apply -json` printed. A replacement, which is two pieces of work
// on one object, lasts from the beginning of the first to the end of the second.
func ReadRun(r io.Reader) (*Run, error) {
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
	if len(run.spans) == 0 {
		return nil, fmt.Errorf("it has no event about an object that was changed")
	}
	return run, nil
}

// CriticalPath returns the chain of changes that determined how long the run took, in the order in
// which they ran: the change that ended last, before it the one that ended last of those that it
// waited for, and so on.
func (g *Graph) CriticalPath(run *Run) []*plans.InstanceChange {
	latest := make([]*plans.InstanceChange, len(g.Nodes)) // the change of each node that ended last
	ended := func(c *plans.InstanceChange) time.Duration {
		span, _ := run.Span(c)
		return span.Ended
	}
	last := -1
	for i, n := range g.Nodes {
		for _, c := range n.Changes {
			if _, ok := run.Span(c); ok && (latest[i] == nil || ended(c) > ended(latest[i])) {
				latest[i] = c
			}
		}
		if latest[i] != nil && (last < 0 || ended(latest[i]) > ended(latest[last])) {
			last = i
		}
	}
	var path []*plans.InstanceChange
	ends := &nearest{Graph: g, needs: g.Needs(), latest: latest, ended: ended, best: make([]int, len(g.Nodes)),
		seen: make([]bool, len(g.Nodes))}
	for visited := map[int]bool{}; last >= 0 && !visited[last]; {
		visited[last] = true
		path = append(path, latest[last])
		last = ends.before(last)
	}
	slices.Reverse(path)
	return path
}

// nearest finds, for each node, the node with changes that ended last among those that it waits for
// directly or through nodes without changes. Each node is visited once.
type nearest struct {
	*Graph
	needs  [][]int
	latest []*plans.InstanceChange
	ended  func(*plans.InstanceChange) time.Duration
	best   []int
	seen   []bool
}

func (n *nearest) before(id int) int {
	if n.seen[id] {
		return n.best[id]
	}
	n.seen[id], n.best[id] = true, -1
	for _, e := range n.needs[id] {
		to := n.Edges[e].To
		if n.latest[to] == nil {
			to = n.before(to)
		}
		if to >= 0 && (n.best[id] < 0 || n.ended(n.latest[to]) > n.ended(n.latest[n.best[id]])) {
			n.best[id] = to
		}
	}
	return n.best[id]
}
