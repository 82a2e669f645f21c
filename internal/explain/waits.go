package explain

import (
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
)

// waits returns the objects that a change waits for, and those that wait for it. Steps that do
// nothing don't count: what they wait for is waited for directly.
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
	var found []part
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
			found = append(found, part{s.Change, partName(s)})
		}
	}
	return grouped(found)
}

// part is a part of a change: a replacement has two.
type part struct {
	change *plans.InstanceChange
	action string
}

// partNames are the names of the parts that remove an object.
var partNames = map[any]string{graph.StepDelete: "delete", graph.StepDeposed: "delete", graph.StepForget: "forget"}

func partName(s *graph.Step) string {
	switch name := partNames[s.Part]; {
	case name != "":
		return name
	case s.Change.Action.IsReplace():
		return plans.Create.String()
	}
	return s.Change.Action.String()
}

// grouped counts parts of changes by resource and action. A single object has its own address.
func grouped(parts []part) []*Other {
	type group struct {
		addr   addrs.AbsResource
		action string
	}
	seen := map[part]bool{}
	groups := map[group]*Other{}
	var out []*Other
	for _, p := range parts {
		if seen[p] {
			continue
		}
		seen[p] = true
		c := p.change
		g := group{c.Addr.Abs(), p.action}
		if groups[g] == nil {
			groups[g] = &Other{Address: c.Addr.String(), Action: p.action}
			out = append(out, groups[g])
		}
		groups[g].Count++
		if groups[g].Count > 1 {
			groups[g].Address = g.addr.String()
		}
	}
	slices.SortFunc(out, func(x, y *Other) int {
		return strings.Compare(x.Address+" "+x.Action, y.Address+" "+y.Action)
	})
	return out
}

// takesAlong returns the planned changes of the objects that depend on a destroyed one according to
// the state, directly or through others.
func (e *explainer) takesAlong(c *plans.InstanceChange) []*Other {
	users := map[addrs.ConfigResource][]addrs.ConfigResource{}
	for _, r := range e.Graph.Resources {
		for dep := range r.StoredDependencies() {
			users[dep] = append(users[dep], r.Addr)
		}
	}
	var found []part
	for addr := range dag.Reachable([]addrs.ConfigResource{c.Addr.Config()},
		func(r addrs.ConfigResource) []addrs.ConfigResource { return users[r] }) {
		for _, other := range e.byConfig[addr] {
			if other.Addr.Config() != c.Addr.Config() && removes(other.Action) {
				found = append(found, part{other, other.Action.String()})
			}
		}
	}
	return grouped(found)
}
