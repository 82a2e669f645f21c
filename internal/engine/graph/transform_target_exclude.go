package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/states"
)

// keepExcluded keeps the excluded objects and all their dependencies when everything else is
// destroyed. Dependencies within a module instance do not keep the same resources in other
// instances of the module.
func (t *targeting) keepExcluded() {
	for _, r := range t.match(t.op.Excludes) {
		r.Selected = SelectOthers(t.matches[r])
		t.keepOwnInstances(r)
	}
	var users []*states.Resource
	for r := range t.matches {
		for _, prior := range r.Prior {
			if r.keepsAny(prior) {
				users = append(users, prior)
			}
		}
	}
	needs := func(user *states.Resource) (kept []*states.Resource) {
		for dep := range storedDependencies(user) {
			if r := t.g.Resource(dep); r != nil {
				kept = append(kept, t.keepDependency(r, user.Addr)...)
			}
		}
		return kept
	}
	for range dag.Reachable(users, needs) { // needs keeps what it returns
	}
}

// keepOwnInstances keeps the instances of a resource that excluded ones depend on.
func (t *targeting) keepOwnInstances(r *Resource) {
	for _, prior := range r.Prior {
		var kept []addrs.AbsInstance
		for key := range prior.Instances {
			if addr := prior.Addr.Instance(key); !r.Selected.Has(addr) {
				kept = append(kept, addr)
			}
		}
		needs := func(addr addrs.AbsInstance) (out []addrs.AbsInstance) {
			inst := prior.Instances[addr.Key]
			if inst == nil || inst.Current == nil {
				return nil
			}
			for _, dep := range inst.Current.DependencyInstances {
				if dep.Abs() == prior.Addr {
					out = append(out, dep)
				}
			}
			return out
		}
		for addr := range dag.Reachable(kept, needs) {
			if r.Selected.Has(addr) {
				t.reach(foundInstance{instanceAt: instanceAt{r, addr.Module, addr.Key}})
			}
		}
	}
	if len(t.reached[r]) > 0 {
		r.Selected = SelectOthers(t.targetsAt(r, nil))
	}
}

// keepsAny reports whether some instance of prior, an entry of r in the state, is not selected.
func (r *Resource) keepsAny(prior *states.Resource) bool {
	for key := range prior.Instances {
		if !r.Selected.Has(prior.Addr.Instance(key)) {
			return true
		}
	}
	return false
}

// keepDependency keeps the instances of r that user, which is kept, depends on, and returns the
// entries of r in the state that this call has added. A dependency stays within one instance of the
// innermost module around both resources.
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

// priorIn returns the entries of a resource in the state within a module instance, which is an
// instance of its module or of a module around it.
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

// keepNeedsOfOrphans keeps the stored dependencies, direct and indirect, of excluded resources
// without a block, as far as they have no block either. Otherwise these would be destroyed although
// kept objects depend on them.
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

// dropExcluded drops the excluded resources and their dependents, the latter within the instances
// of the innermost module around both.
func (t *targeting) dropExcluded() {
	excluded := t.match(t.op.Excludes)
	from := t.byInstance(excluded, t.readersOf)
	for _, r := range excluded {
		r.Selected = SelectOthers(t.matches[r])
		if t.whole(r) {
			from[r] = []origin{{at: everywhere}}
		}
	}
	t.keepNeedsOfOrphans(excluded)
	users := t.g.Edges.Dependents()
	lost := t.spread(from, func(id dag.ID) []dag.ID { return users[id] })
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
