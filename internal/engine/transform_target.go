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
		if !b.selective() {
			return nil
		}
		t := &targeting{build: b}
		switch {
		case b.phase.steps:
			t.leaveUnplanned() // the planned changes are the selection already
		case b.phase.destroy && len(b.targets) > 0:
			t.destroyTargets()
		case b.phase.destroy:
			t.spareExcluded()
		case len(b.targets) > 0:
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
	// spared are module instances in which nothing takes part.
	spared map[addrs.ModuleInstance]bool
}

var nothingSelected = &selection{only: []addrs.Target{}}

func (s *selection) has(addr addrs.AbsInstance) bool {
	if s == nil {
		return true
	}
	if s.spared[addr.Module] {
		return false
	}
	in := func(list []addrs.Target) bool {
		return s.named[addr] || s.resources[addr.Abs()] || s.hasModule(addr.Module) || slices.ContainsFunc(list, func(t addrs.Target) bool { return t.ContainsInstance(addr) })
	}
	if s.only != nil {
		return in(s.only)
	}
	return !in(s.not)
}

// hasModule tells whether a module instance, or one that it lies in, is named.
func (s *selection) hasModule(m addrs.ModuleInstance) bool {
	for ; len(s.modules) > 0 && !m.IsRoot(); m, _ = m.Parent() {
		if s.modules[m] {
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
	for _, r := range t.resources {
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
	for _, n := range t.nodes {
		if n.isCheck {
			n.final = false
		}
	}
	for _, v := range t.values {
		root := v.kind == outputValue && v.module.parent == nil
		if root && t.plan.Changes.Output(v.name) == nil || !root && len(v.rules) > 0 {
			v.node.final = false
		}
	}
}

// keepTargets keeps what is targeted and what that depends on. What only the state knows goes alone: nobody asked for what depends on it.
func (t *targeting) keepTargets() {
	var roots []dag.ID
	for _, r := range t.match(t.targets) {
		r.selected = newSelection(t.hits[r], true)
		roots = append(roots, r.node.ID)
	}
	keep := t.graph.Reach(roots...)
	t.keepWhole(keep)
	for _, r := range t.resources {
		r.onlyNeeded = r.cfg != nil && t.hits[r] == nil
	}
	t.keepOutputs(keep)
	t.drop(keep)
}

// destroyTargets destroys what is targeted and what depends on it by what is stored; everything else only has values. Nothing depends on
// what a target names and the state doesn't have.
func (t *targeting) destroyTargets() {
	targeted := t.match(t.targets)
	selected := map[*resource]*selection{}
	for _, r := range targeted {
		selected[r] = newSelection(t.hits[r], true)
	}
	users := t.neededUsers(slices.DeleteFunc(slices.Clone(targeted), func(r *resource) bool { return !r.hasAny(selected[r]) }))
	within := t.targetedInstances()
	var roots []dag.ID
	for _, r := range t.resources {
		if r.addr.Resource.Mode != addrs.Ephemeral { // what a provider is configured with is opened all the same
			r.selected = nothingSelected
		}
	}
	for _, r := range targeted {
		r.selected = selected[r]
		roots = append(roots, r.node.ID)
	}
	for r, need := range users {
		switch {
		case need == needsWhole:
			r.selected = nil
		case r.selected == nothingSelected || t.hits[r] != nil:
			r.selected = within.of(r.module)
		}
		roots = append(roots, r.node.ID)
	}
	t.drop(t.graph.Reach(roots...))
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

// spareExcluded leaves what is excluded, and everything that it depends on, when all else is destroyed. What a module instance needs of
// itself doesn't keep what its siblings have of the same resources.
func (t *targeting) spareExcluded() {
	for _, r := range t.match(t.excludes) {
		r.selected = newSelection(t.hits[r], false)
	}
	var todo []*states.Resource
	for r := range t.hits {
		for _, prior := range r.prior {
			if r.leaves(prior) {
				todo = append(todo, prior)
			}
		}
	}
	for len(todo) > 0 {
		user := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, dep := range storedDependencies(user) {
			if r := t.byConfig[dep]; r != nil {
				todo = append(todo, t.spare(r, user.Addr)...)
			}
		}
	}
}

// leaves tells whether something that the state has of a resource in a module instance is left out.
func (r *resource) leaves(prior *states.Resource) bool {
	for key := range prior.Instances {
		if !r.selected.has(prior.Addr.Instance(key)) {
			return true
		}
	}
	return false
}

// spare leaves out what something that stays needs of a resource, and lists what of that was not left out in this way before.
func (t *targeting) spare(r *resource, user addrs.AbsResource) []*states.Resource {
	if r.selected == nothingSelected {
		return nil
	}
	if user.Module.Module() != r.addr.Module {
		r.selected = nothingSelected
		return r.prior
	}
	prior := t.prior.Resource(r.addr.Resource.InInstance(user.Module))
	if r.selected == nil {
		r.selected = newSelection(nil, false)
	}
	if prior == nil || r.selected.spared[user.Module] {
		return nil
	}
	if r.selected.spared == nil {
		r.selected.spared = map[addrs.ModuleInstance]bool{}
	}
	r.selected.spared[user.Module] = true
	return []*states.Resource{prior}
}

func (t *targeting) usersByStored() map[addrs.ConfigResource][]*resource {
	users := map[addrs.ConfigResource][]*resource{}
	for _, r := range t.resources {
		for _, dep := range r.storedDeps() {
			users[dep] = append(users[dep], r)
		}
	}
	return users
}

// spareNeedsOfGone leaves out what excluded resources without a block depend on by what is stored, directly or not, among resources
// that have no block either: those would be destroyed, and only after what depends on them.
func (t *targeting) spareNeedsOfGone(excluded []*resource) {
	var todo []*resource
	for _, r := range excluded {
		if r.cfg == nil {
			todo = append(todo, r)
		}
	}
	seen := map[*resource]bool{}
	for len(todo) > 0 {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, dep := range r.storedDeps() {
			if q := t.byConfig[dep]; q != nil && q.cfg == nil && !seen[q] && q != r {
				seen[q] = true
				q.selected = nothingSelected
				todo = append(todo, q)
			}
		}
	}
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

func (t *targeting) dropExcluded() {
	excluded := t.match(t.excludes)
	var roots []dag.ID
	for _, r := range excluded {
		r.selected = newSelection(t.hits[r], false)
		roots = append(roots, r.node.ID)
	}
	t.spareNeedsOfGone(excluded)
	out := dag.ReachIn(t.graph.Dependents(), roots...)
	roots = roots[:0]
	for _, r := range t.resources {
		switch {
		case t.hits[r] == nil:
			if !out[r.node.ID] {
				roots = append(roots, r.node.ID)
			}
		case !t.whole(r) && !t.dependsOnExcluded(r, out):
			roots = append(roots, r.node.ID) // its other instances stay
		}
	}
	keep := t.graph.Reach(roots...)
	t.keepOutputs(keep)
	t.drop(keep)
}

// whole tells whether every instance that a resource can have is excluded.
func (t *targeting) whole(r *resource) bool {
	return slices.ContainsFunc(t.hits[r], func(target addrs.Target) bool {
		keyed := slices.ContainsFunc(target.Module.Steps(), func(s addrs.Step) bool { return s.Key != addrs.NoKey })
		return !keyed && (target.IsModule() || !target.HasKey || target.Key == addrs.NoKey)
	})
}

func (t *targeting) dependsOnExcluded(r *resource, out []bool) bool {
	for _, dep := range r.deps {
		if other := t.byConfig[dep]; other != nil && out[other.node.ID] {
			return true
		}
	}
	return false
}

// keepOutputs keeps the root outputs that depend on at least one resource and only on resources that are kept.
func (t *targeting) keepOutputs(keep []bool) {
	order, ok := t.graph.Order()
	if !ok {
		return // the cycle is reported at the end
	}
	some, all := make([]bool, len(t.nodes)), make([]bool, len(t.nodes))
	for _, id := range order {
		n := t.nodes[id]
		all[id] = true
		if n.Kind == KindResource {
			some[id], all[id] = true, keep[id]
		}
		for _, need := range t.graph.Needs(id) {
			some[id] = some[id] || some[need]
			all[id] = all[id] && all[need]
		}
	}
	var roots []dag.ID
	for _, v := range t.root.outputs {
		if some[v.node.ID] && all[v.node.ID] {
			roots = append(roots, v.node.ID)
		}
	}
	for id, reached := range t.graph.Reach(roots...) {
		keep[id] = keep[id] || reached
	}
}
