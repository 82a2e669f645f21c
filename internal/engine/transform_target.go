package engine

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
		if !b.op.selective() {
			return nil
		}
		t := &targeting{build: b}
		switch {
		case b.op.phase.Applies():
			t.leaveUnplanned() // the planned changes are the selection already
		case b.op.phase.Destroys() && len(b.op.targets) > 0:
			t.destroyTargets()
		case b.op.phase.Destroys():
			t.spareExcluded()
		case len(b.op.targets) > 0:
			t.keepTargets()
		default:
			t.dropExcluded()
		}
		return nil
	},
}

// selection says which instances of a resource take part.
type selection struct {
	only []addrs.Target // nil: all
	not  []addrs.Target
	// Targets that have a key at each step of their module are kept here instead of in only and not: there may be many, so they are
	// looked up and not compared one by one.
	named     map[addrs.AbsInstance]bool
	resources map[addrs.AbsResource]bool
	modules   map[addrs.ModuleInstance]bool
	// spared holds module instances in which, at any depth, nothing takes part.
	spared map[addrs.ModuleInstance]bool
}

var nothingSelected = &selection{only: []addrs.Target{}}

func (s *selection) has(addr addrs.AbsInstance) bool {
	if s == nil {
		return true
	}
	if within(s.spared, addr.Module) {
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
func newSelection(list []addrs.Target, only bool) *selection {
	s := &selection{named: map[addrs.AbsInstance]bool{}, resources: map[addrs.AbsResource]bool{}, modules: map[addrs.ModuleInstance]bool{}}
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
	hits map[*resource][]addrs.Target // what is targeted or excluded, with what names it

	priors map[*resource]map[addrs.ModuleInstance][]*states.Resource // see priorIn
}

// match finds the resources that the addresses name.
func (t *targeting) match(list []addrs.Target) []*resource {
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
	t.hits = map[*resource][]addrs.Target{}
	var out []*resource
	for _, r := range t.g.resources {
		hits := byResource[r.addr]
		for m := r.addr.Module; ; m, _ = m.Parent() {
			hits = append(hits[:len(hits):len(hits)], byModule[m]...)
			if m.IsRoot() {
				break
			}
		}
		if len(hits) > 0 {
			t.hits[r] = hits
			out = append(out, r)
		}
	}
	return out
}

// leaveUnplanned leaves alone, while applying a part, the outputs, checks and conditions that were no part of the plan: what a planned
// change needs is evaluated all the same.
func (t *targeting) leaveUnplanned() {
	for _, n := range t.g.nodes {
		if n.Kind == KindCheck {
			n.kept = false
		}
	}
	for _, v := range t.g.values {
		root := v.kind == outputValue && v.module.parent == nil
		if root && t.op.plan.Changes.Output(v.name) == nil || !root && len(v.rules) > 0 {
			v.node.kept = false
		}
	}
}

// keepTargets keeps what is targeted and what that depends on. What only the state knows goes alone, and only where a target names it.
func (t *targeting) keepTargets() {
	targeted := t.match(t.op.targets)
	var roots []dag.ID
	for _, r := range targeted {
		roots = append(roots, r.node.ID)
	}
	needed := t.spread(t.modulesOf(targeted), t.g.edges.Needs)
	for _, r := range t.g.resources {
		r.unwanted = nothingSelected
		if t.hits[r] != nil {
			r.unwanted = newSelection(t.hits[r], true)
			r.selected = r.unwanted
		}
		if at := needed[r.node.ID]; at != nil {
			r.selected = t.selection(r, at, true)
		}
	}
	keep := t.g.edges.Reach(roots...)
	t.keepOutputs(keep, func(id dag.ID) bool { return keep[id] })
	t.drop(keep)
}

// destroyTargets destroys what is targeted and what depends on it by what is stored; everything else only has values. Nothing depends on
// what a target names and the state doesn't have.
func (t *targeting) destroyTargets() {
	targeted := t.match(t.op.targets)
	for _, r := range t.g.resources {
		if r.addr.Resource.Mode != addrs.Ephemeral { // what a provider is configured with is opened all the same
			r.selected = nothingSelected
		}
	}
	var roots []dag.ID
	for _, r := range targeted {
		r.selected = newSelection(t.hits[r], true)
		roots = append(roots, r.node.ID)
	}
	there := slices.DeleteFunc(targeted, func(r *resource) bool { return !r.hasAny(r.selected) })
	users := t.spread(t.modulesOf(there), t.storedUsers())
	for _, r := range t.g.resources {
		if at := users[r.node.ID]; at != nil {
			r.selected = t.selection(r, at, true)
			roots = append(roots, r.node.ID)
		}
	}
	t.drop(t.g.edges.Reach(roots...))
}

// hasAny tells whether the state has an instance that belongs to a selection.
func (r *resource) hasAny(s *selection) bool {
	return slices.ContainsFunc(r.prior, func(prior *states.Resource) bool {
		for key := range prior.Instances {
			if s.has(prior.Addr.Instance(key)) {
				return true
			}
		}
		return false
	})
}

func (t *targeting) usersByStored() map[addrs.ConfigResource][]*resource {
	users := map[addrs.ConfigResource][]*resource{}
	for _, r := range t.g.resources {
		for _, dep := range r.storedDeps() {
			users[dep] = append(users[dep], r)
		}
	}
	return users
}

// storedDeps lists the dependencies of all of a resource's objects, repetitions included only where lists differ.
func (r *resource) storedDeps() []addrs.ConfigResource { return storedDependencies(r.prior...) }

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
	order, ok := t.g.edges.Order()
	if !ok {
		return // the cycle is reported at the end
	}
	some, all := make([]bool, len(t.g.nodes)), make([]bool, len(t.g.nodes))
	for _, id := range order {
		n := t.g.nodes[id]
		all[id] = true
		if n.Kind.isResource() {
			some[id], all[id] = true, complete(id)
		}
		for _, need := range t.g.edges.Needs(id) {
			some[id] = some[id] || some[need]
			all[id] = all[id] && all[need]
		}
	}
	var roots []dag.ID
	for _, v := range t.g.root.outputs {
		if some[v.node.ID] && all[v.node.ID] {
			roots = append(roots, v.node.ID)
		}
	}
	for id, reached := range t.g.edges.Reach(roots...) {
		keep[id] = keep[id] || reached
	}
}
