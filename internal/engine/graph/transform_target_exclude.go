package graph

import (
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/states"
)

// keepExcluded keeps the excluded objects and all their dependencies when everything else is
// destroyed. If the state names the instances that an object depends on, it keeps only these
// instances of a resource, and all instances otherwise. Dependencies within a module instance do
// not keep the same resources in other instances of the module.
func (t *targeting) keepExcluded() {
	var kept []instanceAt
	for _, r := range t.match(t.op.Excludes) {
		r.Selected = SelectOthers(t.matches[r])
		for _, prior := range r.Prior {
			for _, key := range prior.SortedKeys() {
				if x := (instanceAt{r, prior.Addr.Module, key}); !r.Selected.Has(x.addr()) {
					kept = append(kept, x)
				}
			}
		}
	}
	for range dag.Reachable(kept, t.keepNeeds) { // keepNeeds keeps what it returns
	}
	for _, r := range t.g.Resources {
		if len(t.reached[r]) == 0 || r.Selected == nothingSelected {
			continue
		}
		some := SelectOthers(t.targetsAt(r, nil))
		if r.Selected != nil {
			some.kept = r.Selected.kept
		}
		r.Selected = some
	}
	for _, r := range t.g.Resources {
		t.g.LeftOut = append(t.g.LeftOut, t.keptOf(r)...)
	}
}

// keptOf returns the objects of a resource that are kept because excluded objects depend on them.
func (t *targeting) keptOf(r *Resource) []LeftOut {
	var out []LeftOut
	for addr, why := range t.reasons[r] {
		if t.keptFor[addr.Abs()] == "" {
			out = append(out, LeftOut{addr.String(), why})
		}
	}
	unnamed := SelectOthers(t.matches[r])
	for _, prior := range r.Prior {
		isUnnamed := func(key addrs.InstanceKey) bool { return unnamed.Has(prior.Addr.Instance(key)) }
		why := t.keptFor[prior.Addr]
		if why != "" && slices.ContainsFunc(prior.SortedKeys(), isUnnamed) {
			out = append(out, LeftOut{prior.Addr.String(), why})
		}
	}
	slices.SortFunc(out, func(a, b LeftOut) int { return strings.Compare(a.What, b.What) })
	return out
}

// keepNeeds keeps the instances that an instance in the state depends on, and returns those that
// were not kept before this call.
func (t *targeting) keepNeeds(x instanceAt) (added []instanceAt) {
	inst := t.priorOf(x)
	if inst == nil || inst.Current == nil {
		return nil
	}
	var single map[addrs.ConfigResource]bool
	if len(inst.Current.DependencyInstances) > 0 {
		single = map[addrs.ConfigResource]bool{}
	}
	why := func() string { return "is needed by " + x.addr().String() }
	for _, dep := range inst.Current.DependencyInstances {
		single[dep.Config()] = true
		r := t.g.Resource(dep.Config())
		y := instanceAt{r, dep.Module, dep.Key}
		if r != nil && t.priorOf(y) != nil && r.Selected.Has(dep) && t.reasons[r][dep] == "" {
			t.reach(foundInstance{y, why()})
			added = append(added, y)
		}
	}
	for dep := range inst.Current.Dependencies.All() {
		r := t.g.Resource(dep)
		if r == nil || single[dep] {
			continue
		}
		for _, prior := range t.keepDependency(r, x.addr().Abs()) {
			if t.keptFor == nil {
				t.keptFor = map[addrs.AbsResource]string{}
			}
			t.keptFor[prior.Addr] = why()
			for _, key := range prior.SortedKeys() {
				added = append(added, instanceAt{r, prior.Addr.Module, key})
			}
		}
	}
	return added
}

// priorOf returns the instance in the state, or nil if the state doesn't have it.
func (t *targeting) priorOf(x instanceAt) *states.Instance {
	if x.r == nil {
		return nil
	}
	return t.op.Prior.Instance(x.addr())
}

// keepDependency keeps the instances of r that user depends on. user is an object that is kept. It
// returns the entries of r in the state that were not kept before this call. A dependency stays
// within one instance of the innermost module that contains both resources.
func (t *targeting) keepDependency(r *Resource, user addrs.AbsResource) []*states.Resource {
	if r.Selected == nothingSelected {
		return nil
	}
	at, depth := user.Module, sharedNames(user.Module.Module().Names(), r.Addr.Module.Names())
	for len(at.Steps()) > depth {
		at, _ = at.Parent()
	}
	if at.IsRoot() {
		r.Selected = nothingSelected
		return r.Prior
	}
	if r.Selected == nil {
		r.Selected = SelectOthers(nil)
	}
	if r.Selected.kept[at] {
		return nil
	}
	if r.Selected.kept == nil {
		r.Selected.kept = map[addrs.ModuleInstance]bool{}
	}
	r.Selected.kept[at] = true
	return t.priorIn(r, at)
}

// priorIn returns the entries of a resource in the state within a module instance. The module
// instance is an instance of the resource's module or of a module that contains it.
func (t *targeting) priorIn(r *Resource, at addrs.ModuleInstance) []*states.Resource {
	if t.priors[r] == nil {
		if t.priors == nil {
			t.priors = map[*Resource]map[addrs.ModuleInstance][]*states.Resource{}
		}
		index := map[addrs.ModuleInstance][]*states.Resource{}
		for _, prior := range r.Prior {
			for m := prior.Addr.Module; !m.IsRoot(); m, _ = m.Parent() {
				index[m] = append(index[m], prior)
			}
		}
		t.priors[r] = index
	}
	return t.priors[r][at]
}

// keepNeedsOfOrphans handles excluded resources without a block. It keeps their direct and indirect
// stored dependencies that have no block either. Otherwise these dependencies would be destroyed
// although kept objects depend on them.
func (t *targeting) keepNeedsOfOrphans(excluded []*Resource) {
	var orphans []*Resource
	for _, r := range excluded {
		if r.Config == nil {
			orphans = append(orphans, r)
		}
	}
	needs := func(r *Resource) (kept []*Resource) {
		for dep := range r.storedDeps() {
			if q := t.g.Resource(dep); q != nil && q.Config == nil && q != r {
				q.Selected = nothingSelected
				kept = append(kept, q)
			}
		}
		return kept
	}
	for range dag.Reachable(orphans, needs) { // needs keeps what it returns
	}
}

// dropExcluded drops the excluded resources and their dependents. A dependent is dropped only
// within the same instances of the innermost module that contains both.
func (t *targeting) dropExcluded() {
	excluded := t.match(t.op.Excludes)
	search, from := t.byInstance(excluded, t.readersOf)
	for _, r := range excluded {
		r.Selected = SelectOthers(t.matches[r])
		if t.whole(r) {
			from = append(from, startAt{r, origin{at: everywhere}})
		}
	}
	t.keepNeedsOfOrphans(excluded)
	users := t.g.Edges.Dependents()
	lost := t.spread(from, search, func(id dag.ID) []dag.ID { return users[id] }, newCallReaders(t))
	var roots []dag.ID
	for _, r := range t.g.Resources {
		at := lost[r.Node.ID]
		if at[everywhere] || t.matches[r] != nil && t.whole(r) {
			continue
		}
		if at != nil || len(t.reached[r]) > 0 {
			r.Selected = SelectOthers(t.targetsAt(r, at))
		}
		roots = append(roots, r.Node.ID)
	}
	t.g.LeftOut = t.leftOutBy(lost)
	keep := t.g.Edges.Reach(roots...)
	t.keepOutputs(keep, func(id dag.ID) bool {
		return keep[id] && lost[id] == nil && len(t.reached[t.g.Nodes[id].Resource]) == 0
	})
	t.drop(keep)
}

// whole reports whether every possible instance of a resource is excluded.
func (t *targeting) whole(r *Resource) bool {
	return slices.ContainsFunc(t.matches[r], func(target addrs.Target) bool {
		keyed := slices.ContainsFunc(target.Module.Steps(), func(s addrs.Step) bool { return s.Key != addrs.NoKey })
		return !keyed && (target.IsModule() || !target.HasKey || target.Key == addrs.NoKey)
	})
}
