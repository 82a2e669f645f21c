package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

var targetTransformer = &Transformer{
	Name:  "Target",
	Doc:   "keeps what is targeted and what that depends on, or drops what is excluded and what depends on that",
	After: []*Transformer{referenceTransformer, closeTransformer, importTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		if !b.op.Selective() {
			return nil
		}
		t := &targeting{build: b}
		switch {
		case b.op.Phase.Applies():
			t.skipUnplanned() // the planned changes are the selection already
		case b.op.Phase.Destroys() && len(b.op.Targets) > 0:
			t.destroyTargets()
		case b.op.Phase.Destroys():
			t.keepExcluded()
		case len(b.op.Targets) > 0:
			t.keepTargets()
		default:
			t.dropExcluded()
		}
		return nil
	},
}

// Selection says which instances of a resource take part.
type Selection struct {
	only []addrs.Target // nil: all
	not  []addrs.Target
	// Targets that have a key at each step of their module are kept here instead of in only and not: there may be many, so they are
	// looked up and not compared one by one.
	named     map[addrs.AbsInstance]bool
	resources map[addrs.AbsResource]bool
	modules   map[addrs.ModuleInstance]bool
	// spared holds module instances in which, at any depth, nothing takes part.
	kept map[addrs.ModuleInstance]bool
}

var nothingSelected = &Selection{only: []addrs.Target{}}

func (s *Selection) Has(addr addrs.AbsInstance) bool {
	if s == nil {
		return true
	}
	if within(s.kept, addr.Module) {
		return false
	}
	in := func(list []addrs.Target) bool {
		return s.named[addr] || s.resources[addr.Abs()] || within(s.modules, addr.Module) || slices.ContainsFunc(list, func(t addrs.Target) bool { return t.ContainsInstance(addr) })
	}
	if s.only != nil {
		return in(s.only)
	}
	return !in(s.not)
}

// within reports whether a module instance, or one that it lies in, is in a set.
func within(set map[addrs.ModuleInstance]bool, m addrs.ModuleInstance) bool {
	for ; len(set) > 0 && !m.IsRoot(); m, _ = m.Parent() {
		if set[m] {
			return true
		}
	}
	return false
}

// newSelection makes the selection of those that the targets name, or of all but those.
func NewSelection(list []addrs.Target, only bool) *Selection {
	s := &Selection{named: map[addrs.AbsInstance]bool{}, resources: map[addrs.AbsResource]bool{}, modules: map[addrs.ModuleInstance]bool{}}
	rest := []addrs.Target{}
	for _, t := range list {
		switch {
		case hasOpenStep(t.Module):
			rest = append(rest, t)
		case t.IsModule():
			s.modules[t.Module] = true
		case t.HasKey:
			s.named[t.Resource.InInstance(t.Module).Instance(t.Key)] = true
		default:
			s.resources[t.Resource.InInstance(t.Module)] = true
		}
	}
	if only {
		s.only = rest
	} else {
		s.not = rest
	}
	return s
}

// hasOpenStep tells whether a step of a target's module has no key, so that it may cover several instances.
func hasOpenStep(m addrs.ModuleInstance) bool {
	return slices.ContainsFunc(m.Steps(), func(s addrs.Step) bool { return s.Key == addrs.NoKey })
}

type targeting struct {
	*build
	matches map[*Resource][]addrs.Target // what is targeted or excluded, with what names it

	priors map[*Resource]map[addrs.ModuleInstance][]*states.Resource // see priorIn
}

// match finds the resources that the addresses name.
func (t *targeting) match(list []addrs.Target) []*Resource {
	byResource := map[addrs.ConfigResource][]addrs.Target{}
	byModule := map[addrs.Module][]addrs.Target{}
	for _, target := range list {
		m := target.Module.Module()
		if target.IsModule() {
			byModule[m] = append(byModule[m], target)
		} else {
			at := target.Resource.In(m)
			byResource[at] = append(byResource[at], target)
		}
	}
	t.matches = map[*Resource][]addrs.Target{}
	var out []*Resource
	for _, r := range t.g.Resources {
		hits := byResource[r.Addr]
		for m := r.Addr.Module; ; m, _ = m.Parent() {
			hits = append(hits[:len(hits):len(hits)], byModule[m]...)
			if m.IsRoot() {
				break
			}
		}
		if len(hits) > 0 {
			t.matches[r] = hits
			out = append(out, r)
		}
	}
	return out
}

// skipUnplanned leaves alone, while applying a part, the outputs, checks and conditions that were no part of the plan: what a planned
// change needs is evaluated all the same.
func (t *targeting) skipUnplanned() {
	for _, n := range t.g.Nodes {
		if n.Kind == KindCheck {
			n.kept = false
		}
	}
	for _, v := range t.g.Values {
		root := v.Kind == Output && v.Module.Parent == nil
		if root && t.op.Plan.Changes.Output(v.Name) == nil || !root && len(v.Conditions) > 0 {
			v.Node.kept = false
		}
	}
}

// keepTargets keeps what is targeted and what that depends on. What only the state knows goes alone, and only where a target names it.
func (t *targeting) keepTargets() {
	targeted := t.match(t.op.Targets)
	var roots []dag.ID
	for _, r := range targeted {
		roots = append(roots, r.Node.ID)
	}
	needed := t.spread(t.modulesOf(targeted), t.g.Edges.Needs)
	for _, r := range t.g.Resources {
		r.SelectedOrphans = nothingSelected
		if t.matches[r] != nil {
			r.SelectedOrphans = NewSelection(t.matches[r], true)
			r.Selected = r.SelectedOrphans
		}
		if at := needed[r.Node.ID]; at != nil {
			r.Selected = t.selection(r, at, true)
		}
	}
	keep := t.g.Edges.Reach(roots...)
	t.keepOutputs(keep, func(id dag.ID) bool { return keep[id] })
	t.drop(keep)
}

// destroyTargets destroys what is targeted and what depends on it by what is stored; everything else only has values. Nothing depends on
// what a target names and the state doesn't have.
func (t *targeting) destroyTargets() {
	targeted := t.match(t.op.Targets)
	for _, r := range t.g.Resources {
		if r.Addr.Resource.Mode != addrs.Ephemeral { // what a provider is configured with is opened all the same
			r.Selected = nothingSelected
		}
	}
	var roots []dag.ID
	for _, r := range targeted {
		r.Selected = NewSelection(t.matches[r], true)
		roots = append(roots, r.Node.ID)
	}
	there := slices.DeleteFunc(targeted, func(r *Resource) bool { return !r.hasAny(r.Selected) })
	users := t.spread(t.modulesOf(there), t.storedUsers())
	for _, r := range t.g.Resources {
		if at := users[r.Node.ID]; at != nil {
			r.Selected = t.selection(r, at, true)
			roots = append(roots, r.Node.ID)
		}
	}
	t.drop(t.g.Edges.Reach(roots...))
}

// hasAny tells whether the state has an instance that belongs to a selection.
func (r *Resource) hasAny(s *Selection) bool {
	return slices.ContainsFunc(r.Prior, func(prior *states.Resource) bool {
		for key := range prior.Instances {
			if s.Has(prior.Addr.Instance(key)) {
				return true
			}
		}
		return false
	})
}

func (t *targeting) usersByStored() map[addrs.ConfigResource][]*Resource {
	users := map[addrs.ConfigResource][]*Resource{}
	for _, r := range t.g.Resources {
		for _, dep := range r.storedDeps() {
			users[dep] = append(users[dep], r)
		}
	}
	return users
}

// storedDeps lists the dependencies of all of a resource's objects, repetitions included only where lists differ.
func (r *Resource) storedDeps() []addrs.ConfigResource { return storedDependencies(r.Prior...) }

func storedDependencies(of ...*states.Resource) []addrs.ConfigResource {
	var out []addrs.ConfigResource
	var last *addrs.ConfigResource
	for _, prior := range of {
		for _, inst := range prior.Instances {
			if o := inst.Current; o != nil && len(o.Dependencies) > 0 && last != &o.Dependencies[0] {
				last = &o.Dependencies[0]
				out = append(out, o.Dependencies...)
			}
		}
	}
	return out
}

// keepOutputs keeps the root outputs that depend on at least one resource and only on complete ones:
// an output that also reads an instance which takes no part would change by half.
func (t *targeting) keepOutputs(keep []bool, complete func(dag.ID) bool) {
	order, ok := t.g.Edges.Order()
	if !ok {
		return // the cycle is reported at the end
	}
	some, all := make([]bool, len(t.g.Nodes)), make([]bool, len(t.g.Nodes))
	for _, id := range order {
		n := t.g.Nodes[id]
		all[id] = true
		if n.Kind.IsResource() {
			some[id], all[id] = true, complete(id)
		}
		for _, need := range t.g.Edges.Needs(id) {
			some[id] = some[id] || some[need]
			all[id] = all[id] && all[need]
		}
	}
	var roots []dag.ID
	for _, v := range t.g.Root.Outputs {
		if some[v.Node.ID] && all[v.Node.ID] {
			roots = append(roots, v.Node.ID)
		}
	}
	for id, reached := range t.g.Edges.Reach(roots...) {
		keep[id] = keep[id] || reached
	}
}
