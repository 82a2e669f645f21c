package engine

import (
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
)

// waiters finds the instances that wait for a change in an apply. It only reads the graph, which
// the walk doesn't change either. Its indexes are built when they are first needed, because most
// runs don't need them.
type waiters struct {
	graph      *graph.Graph
	index      sync.Once
	steps      map[startedStep][]dag.ID
	dependents [][]dag.ID

	mu    sync.Mutex
	lost  map[dag.ID]bool // failed nodes, and those that are not visited because of them
	count int             // how many of them are steps that change or read an object
}

// startedStep identifies a step by the data in an ApplyStart event.
type startedStep struct {
	addr    addrs.AbsInstance
	removes bool // the step deletes or forgets an object; see reads.Step.Removes
}

// of returns the instances whose changes wait directly for an action on an object, in the order of
// the graph. If the waiting Step changes nothing, the result has the instances that wait for that
// Step instead.
func (w *waiters) of(o Object, action plans.Action) []addrs.AbsInstance {
	w.index.Do(w.build)
	w.mu.Lock()
	defer w.mu.Unlock()
	other := func(id dag.ID) *reads.Step {
		s := w.graph.Nodes[id].Step()
		if s == nil || s.Change.Action == plans.NoOp || s.Change.Addr == o.Addr {
			return nil
		}
		return s
	}
	var out []addrs.AbsInstance
	seen := make(map[addrs.AbsInstance]bool)
	own := w.steps[startedStep{o.Addr, action == plans.Delete}]
	for id := range dag.Reachable(own, func(id dag.ID) []dag.ID {
		if other(id) != nil {
			return nil
		}
		return w.dependents[id]
	}) {
		if s := other(id); s != nil && !seen[s.Change.Addr] && !w.lost[id] {
			seen[s.Change.Addr] = true
			out = append(out, s.Change.Addr)
		}
	}
	return out
}

func (w *waiters) build() {
	w.dependents = w.graph.Edges.Dependents()
	w.steps = make(map[startedStep][]dag.ID)
	for _, n := range w.graph.Nodes {
		if s := n.Step(); s != nil {
			key := startedStep{s.Change.Addr, s.Removes()}
			w.steps[key] = append(w.steps[key], n.ID)
		}
	}
}

// lose records that a node has failed, so that its dependents are not visited. All calls together
// cost as much as one pass over the graph.
func (w *waiters) lose(failed dag.ID) {
	w.index.Do(w.build)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost[failed] = true
	for todo := []dag.ID{failed}; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, next := range w.dependents[id] {
			if w.lost[next] || graph.Tolerates(w.graph.Nodes[next], w.graph.Nodes[id]) {
				continue
			}
			w.lost[next] = true
			if s := w.graph.Nodes[next].Step(); s != nil && s.CallsProvider() {
				w.count++
			}
			todo = append(todo, next)
		}
	}
}

func (w *waiters) lostSteps() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}
