package explain

import (
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/ui/planview"
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
			if s := n.Step(); s != nil {
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
	step := func(id dag.ID) *reads.Step {
		s := e.Graph.Nodes[id].Step()
		if s == nil || s.Change.Action == plans.NoOp {
			return nil
		}
		return s
	}
	own := e.indexSteps().of[c]
	ofPart := map[part]string{}
	var firsts []dag.ID // the first Steps
	at := map[dag.ID]part{}
	for _, from := range own {
		name := ""
		if len(own) > 1 {
			name = partName(e.Graph.Nodes[from].Step())
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
			if _, known := at[other]; !known {
				firsts = append(firsts, other)
				at[other] = p
			}
			if before, found := ofPart[p]; found && before != name {
				ofPart[p] = ""
			} else {
				ofPart[p] = name
			}
		}
	}
	// What comes after the first Steps. If it has one of them, another one leads there, too.
	var further []dag.ID
	for _, id := range firsts {
		if len(firsts) > 1 { // otherwise, nothing comes between
			further = append(further, next(id)...)
		}
	}
	behind := map[dag.ID]bool{}
	for id := range dag.Reachable(further, next) {
		behind[id] = true
	}
	direct := map[part]bool{}
	refers := e.origins(c)
	for id, p := range at {
		if !behind[id] || refers[p.change.Addr.Config()] {
			direct[p] = true
		}
	}
	var found []part
	for p, name := range ofPart {
		indirect := !direct[p]
		p.own, p.indirect = name, indirect
		found = append(found, p)
	}
	return grouped(found)
}

// origins returns the resources to which the block of a change refers, see planview.Plan.Origins.
func (e *explainer) origins(c *plans.InstanceChange) map[addrs.ConfigResource]bool {
	if e.review == nil {
		e.review = planview.New(e.View, planview.Options{})
	}
	out := make(map[addrs.ConfigResource]bool)
	for _, addr := range e.review.Origins(c) {
		out[addr] = true
	}
	return out
}

// part is a part of a change. A replacement has two parts.
type part struct {
	change *plans.InstanceChange
	action string
	own    string // see Other.Part
	// indirect says that another part comes between.
	indirect bool
}

// partNames holds the names of the parts that remove an object.
var partNames = map[any]string{reads.StepDelete: "delete", reads.StepDeposed: "delete", reads.StepForget: "forget"}

func partName(s *reads.Step) string {
	switch name := partNames[s.Part]; {
	case name != "":
		return name
	case s.Change.Action.IsReplace():
		return plans.Create.String()
	}
	return s.Change.Action.String()
}

// grouped counts parts of changes by resource and action. If there is only one object, its own
// address is used. Those that come indirectly are last.
func grouped(parts []part) []*Other {
	type group struct {
		addr        addrs.AbsResource
		action, own string
		indirect    bool
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
		g := group{c.Addr.Abs(), p.action, p.own, p.indirect}
		if groups[g] == nil {
			groups[g] = &Other{Address: c.Addr.String(), Action: p.action, Part: p.own, Indirect: p.indirect}
			out = append(out, groups[g])
		}
		groups[g].Count++
		if groups[g].Count > 1 {
			groups[g].Address = g.addr.String()
		}
	}
	slices.SortFunc(out, func(x, y *Other) int {
		if x.Indirect != y.Indirect {
			if x.Indirect {
				return 1
			}
			return -1
		}
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
