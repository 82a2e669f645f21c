package explain

import (
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
)

// waits returns the objects that a change waits for directly, and those that wait for it. Steps that
// do nothing are passed.
func (e *explainer) waits(c *plans.InstanceChange) (before, after []*Other) {
	var own []dag.ID
	for _, n := range e.Graph.Nodes {
		if s, ok := n.Object.(*graph.Step); ok && s.Change == c {
			own = append(own, n.ID)
		}
	}
	if len(own) == 0 {
		return nil, nil
	}
	needs := func(id dag.ID) []dag.ID { return e.Graph.Edges.Needs(id) }
	users := e.Graph.Edges.Dependents()
	return e.nearest(own, needs), e.nearest(own, func(id dag.ID) []dag.ID { return users[id] })
}

// nearest returns the changes of the nearest Steps that next leads to.
func (e *explainer) nearest(own []dag.ID, next func(dag.ID) []dag.ID) []*Other {
	var found []*plans.InstanceChange
	mine := map[*plans.InstanceChange]bool{}
	for _, id := range own {
		mine[e.Graph.Nodes[id].Object.(*graph.Step).Change] = true
	}
	for id := range dag.Reachable(own, func(id dag.ID) []dag.ID {
		if s, ok := e.Graph.Nodes[id].Object.(*graph.Step); ok && s.Change.Action != plans.NoOp && !mine[s.Change] {
			return nil
		}
		return next(id)
	}) {
		if s, ok := e.Graph.Nodes[id].Object.(*graph.Step); ok && s.Change.Action != plans.NoOp && !mine[s.Change] {
			found = append(found, s.Change)
		}
	}
	return grouped(found)
}

// grouped counts changes by resource and action. A single object has its own address.
func grouped(changes []*plans.InstanceChange) []*Other {
	type group struct {
		addr   addrs.AbsResource
		action plans.Action
	}
	seen := map[*plans.InstanceChange]bool{}
	groups := map[group]*Other{}
	var out []*Other
	for _, c := range changes {
		if seen[c] {
			continue
		}
		seen[c] = true
		g := group{c.Addr.Abs(), c.Action}
		if groups[g] == nil {
			groups[g] = &Other{Address: c.Addr.String(), Action: c.Action.String()}
			out = append(out, groups[g])
		}
		if groups[g].Count++; groups[g].Count > 1 {
			groups[g].Address = g.addr.String()
		}
	}
	slices.SortFunc(out, func(x, y *Other) int {
		return strings.Compare(x.Address+" "+x.Action, y.Address+" "+y.Action)
	})
	return out
}

// takesAlong returns the planned changes of the objects that depend on a destroyed one, as the state
// says, directly or through others.
func (e *explainer) takesAlong(c *plans.InstanceChange) []*Other {
	users := map[addrs.ConfigResource][]addrs.ConfigResource{}
	for _, r := range e.Graph.Resources {
		for dep := range r.StoredDependencies() {
			users[dep] = append(users[dep], r.Addr)
		}
	}
	var found []*plans.InstanceChange
	for addr := range dag.Reachable([]addrs.ConfigResource{c.Addr.Config()},
		func(r addrs.ConfigResource) []addrs.ConfigResource { return users[r] }) {
		for _, other := range e.byConfig[addr] {
			if other.Addr.Config() != c.Addr.Config() && removes(other.Action) {
				found = append(found, other)
			}
		}
	}
	return grouped(found)
}
