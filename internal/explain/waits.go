package explain

import (
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
)

// stepIndex finds the Steps of a change, and the nodes that wait for a node.
type stepIndex struct {
	of    map[*plans.InstanceChange][]dag.ID
	users [][]dag.ID // dependents by node
}

// indexSteps returns the index, which the first call builds.
func (e *explainer) indexSteps() *stepIndex {
	if e.steps.of == nil {
		e.steps = stepIndex{map[*plans.InstanceChange][]dag.ID{}, e.Graph.Edges.Dependents()}
		for _, n := range e.Graph.Nodes {
			if s, ok := n.Object.(*graph.Step); ok {
				e.steps.of[s.Change] = append(e.steps.of[s.Change], n.ID)
			}
		}
	}
	return &e.steps
}

// waits returns the objects that a change waits for, and the objects that wait for it. It leaves
// out Steps that do nothing, but continues the search through them.
func (e *explainer) waits(c *plans.InstanceChange) (before, after []*Other) {
	index := e.indexSteps()
	needs := func(id dag.ID) []dag.ID { return e.Graph.Edges.Needs(id) }
	return e.nearest(c, needs), e.nearest(c, func(id dag.ID) []dag.ID { return index.users[id] })
}

// nearest searches from the Steps of a change. The function next returns the nodes after a node.
// nearest returns the changes of the first Steps on each path.
func (e *explainer) nearest(c *plans.InstanceChange, next func(dag.ID) []dag.ID) []*Other {
	step := func(id dag.ID) *graph.Step {
		s, ok := e.Graph.Nodes[id].Object.(*graph.Step)
		if !ok || s.Change.Action == plans.NoOp {
			return nil
		}
		return s
	}
	own := e.indexSteps().of[c]
	ofPart := map[part]string{}
	for _, from := range own {
		name := ""
		if len(own) > 1 {
			name = partName(e.Graph.Nodes[from].Object.(*graph.Step))
		}
		for other := range dag.Reachable([]dag.ID{from}, func(id dag.ID) []dag.ID {
			if step(id) != nil && id != from {
				return nil
			}
			return next(id)
		}) {
			s := step(other)
			if s == nil || s.Change == c {
				continue
			}
			p := part{change: s.Change, action: partName(s)}
			if before, found := ofPart[p]; found && before != name {
				ofPart[p] = ""
			} else {
				ofPart[p] = name
			}
		}
	}
	var found []part
	for p, name := range ofPart {
		p.own = name
		found = append(found, p)
	}
	return grouped(found)
}

// part is a part of a change. A replacement has two parts.
type part struct {
	change *plans.InstanceChange
	action string
	own    string // see Other.Part
}

// partNames holds the names of the parts that remove an object.
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

// grouped counts parts of changes by resource and action. If there is only one object, its own
// address is used.
func grouped(parts []part) []*Other {
	type group struct {
		addr        addrs.AbsResource
		action, own string
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
		g := group{c.Addr.Abs(), p.action, p.own}
		if groups[g] == nil {
			groups[g] = &Other{Address: c.Addr.String(), Action: p.action, Part: p.own}
			out = append(out, groups[g])
		}
		groups[g].Count++
		if groups[g].Count > 1 {
			groups[g].Address = g.addr.String()
		}
	}
	slices.SortFunc(out, func(x, y *Other) int {
		return strings.Compare(x.Address+" "+x.Action+" "+x.Part, y.Address+" "+y.Action+" "+y.Part)
	})
	return out
}

// takesAlong returns the planned changes of objects that depend on a destroyed object according to
// the state, directly or through others.
func (e *explainer) takesAlong(c *plans.InstanceChange) []*Other {
	if e.storedUsers == nil {
		e.storedUsers = map[addrs.ConfigResource][]addrs.ConfigResource{}
		for _, r := range e.Graph.Resources {
			for dep := range r.StoredDependencies() {
				e.storedUsers[dep] = append(e.storedUsers[dep], r.Addr)
			}
		}
	}
	var found []part
	for addr := range dag.Reachable([]addrs.ConfigResource{c.Addr.Config()},
		func(r addrs.ConfigResource) []addrs.ConfigResource { return e.storedUsers[r] }) {
		for _, other := range e.byConfig[addr] {
			if other.Addr.Config() != c.Addr.Config() && removes(other.Action) {
				found = append(found, part{change: other, action: other.Action.String()})
			}
		}
	}
	return grouped(found)
}
