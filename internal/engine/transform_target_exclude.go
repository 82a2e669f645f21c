package engine

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/states"
)

// spareExcluded leaves what is excluded, and everything that it depends on, when all else is destroyed. What a module instance needs of
// itself doesn't keep what its siblings have of the same resources.
func (t *targeting) spareExcluded() {
	for _, r := range t.match(t.op.excludes) {
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
			if r := t.g.byConfig[dep]; r != nil {
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

// spare leaves out what something that stays needs of a resource, and lists what of that was not left out in this way before. What
// two resources need of each other lies in one instance of the innermost module around both.
func (t *targeting) spare(r *resource, user addrs.AbsResource) []*states.Resource {
	if r.selected == nothingSelected {
		return nil
	}
	at, depth := user.Module, sharedNames(user.Module.Module().Names(), r.addr.Module.Names())
	for len(at.Steps()) > depth {
		at, _ = at.Parent()
	}
	if at.IsRoot() {
		r.selected = nothingSelected
		return r.prior
	}
	if r.selected == nil {
		r.selected = newSelection(nil, false)
	}
	if r.selected.spared[at] {
		return nil
	}
	if r.selected.spared == nil {
		r.selected.spared = map[addrs.ModuleInstance]bool{}
	}
	r.selected.spared[at] = true
	return t.priorIn(r, at)
}

// priorIn lists what the state has of a resource in an instance of its module or of one around that.
func (t *targeting) priorIn(r *resource, at addrs.ModuleInstance) []*states.Resource {
	if t.priors[r] == nil {
		if t.priors == nil {
			t.priors = map[*resource]map[addrs.ModuleInstance][]*states.Resource{}
		}
		index := map[addrs.ModuleInstance][]*states.Resource{}
		for _, prior := range r.prior {
			for m := prior.Addr.Module; !m.IsRoot(); m, _ = m.Parent() {
				index[m] = append(index[m], prior)
			}
		}
		t.priors[r] = index
	}
	return t.priors[r][at]
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
			if q := t.g.byConfig[dep]; q != nil && q.cfg == nil && !seen[q] && q != r {
				seen[q] = true
				q.selected = nothingSelected
				todo = append(todo, q)
			}
		}
	}
}

// dropExcluded drops what is excluded and what depends on it, in the instances of the innermost module around both.
func (t *targeting) dropExcluded() {
	excluded := t.match(t.op.excludes)
	from := t.modulesOf(excluded)
	for _, r := range excluded {
		r.selected = newSelection(t.hits[r], false)
		if t.whole(r) {
			from[r] = []addrs.ModuleInstance{everywhere}
		}
	}
	t.spareNeedsOfGone(excluded)
	users := t.g.edges.Dependents()
	lost := t.spread(from, func(id dag.ID) []dag.ID { return users[id] })
	var roots []dag.ID
	for _, r := range t.g.resources {
		at := lost[r.node.ID]
		if at[everywhere] || t.hits[r] != nil && t.whole(r) {
			continue
		}
		if at != nil {
			r.selected = t.selection(r, at, false)
		}
		roots = append(roots, r.node.ID)
	}
	keep := t.g.edges.Reach(roots...)
	t.keepOutputs(keep, func(id dag.ID) bool { return keep[id] && lost[id] == nil })
	t.drop(keep)
}

// whole tells whether every instance that a resource can have is excluded.
func (t *targeting) whole(r *resource) bool {
	return slices.ContainsFunc(t.hits[r], func(target addrs.Target) bool {
		keyed := slices.ContainsFunc(target.Module.Steps(), func(s addrs.Step) bool { return s.Key != addrs.NoKey })
		return !keyed && (target.IsModule() || !target.HasKey || target.Key == addrs.NoKey)
	})
}
