package engine

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/tfdiags"
)

var targetTransformer = &Transformer{
	Name:  "Target",
	Doc:   "keeps what is targeted and what that depends on, or drops what is excluded and what depends on that",
	After: []*Transformer{referenceTransformer, closeTransformer, importTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		if b.phase.steps {
			return nil // the planned changes are the selection already
		}
		switch {
		case len(b.targets) > 0:
			b.keepTargets()
		case len(b.excludes) > 0:
			b.dropExcluded()
		}
		return nil
	},
}

// selection says which instances of a resource take part.
type selection struct {
	only []addrs.Target // nil: all
	not  []addrs.Target
}

func (s *selection) has(addr addrs.AbsInstance) bool {
	if s == nil {
		return true
	}
	in := func(list []addrs.Target) bool {
		return slices.ContainsFunc(list, func(t addrs.Target) bool { return t.ContainsInstance(addr) })
	}
	return (s.only == nil || in(s.only)) && !in(s.not)
}

func (b *build) keepTargets() {
	var roots []dag.ID
	targeted := map[*resource]bool{}
	for _, r := range b.resources {
		var hits []addrs.Target
		for _, t := range b.targets {
			if t.ContainsConfig(r.addr) {
				hits = append(hits, t)
			}
		}
		if len(hits) > 0 {
			targeted[r] = true
			r.selected = &selection{only: hits}
			roots = append(roots, r.node.ID)
		}
	}
	for _, r := range b.destroyDependents(targeted) {
		r.selected = nil
		roots = append(roots, r.node.ID)
	}
	keep := b.graph.Reach(roots...)
	for _, r := range b.resources {
		if keep[r.node.ID] && !targeted[r] || b.neededByOther(r, keep, targeted) {
			r.selected = nil // a dependency is kept whole
		}
	}
	b.keepOutputs(keep)
	b.drop(keep)
}

// neededByOther tells whether a targeted resource is also a dependency of something that is kept.
func (b *build) neededByOther(r *resource, keep []bool, targeted map[*resource]bool) bool {
	if r.selected == nil {
		return false
	}
	if b.users == nil {
		b.users = b.graph.Dependents()
	}
	reached := dag.ReachIn(b.users, r.node.ID)
	for id, ok := range reached {
		n := b.nodes[id]
		if ok && keep[id] && n.resource != nil && n.resource != r && n == n.resource.node {
			return true
		}
	}
	return false
}

// destroyDependents lists what depends on the targeted resources by what is stored, where the plan destroys: it must go first.
func (b *build) destroyDependents(targeted map[*resource]bool) []*resource {
	users := map[addrs.ConfigResource][]*resource{}
	for _, r := range b.resources {
		if r.cfg != nil && !b.phase.destroy {
			continue
		}
		for _, dep := range b.storedDeps(r) {
			users[dep] = append(users[dep], r)
		}
	}
	var todo, out []*resource
	for r := range targeted {
		if r.cfg == nil || b.phase.destroy {
			todo = append(todo, r)
		}
	}
	seen := map[*resource]bool{}
	for len(todo) > 0 {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, user := range users[r.addr] {
			if !seen[user] {
				seen[user] = true
				out, todo = append(out, user), append(todo, user)
			}
		}
	}
	return out
}

// storedDeps lists the dependencies of all of a resource's objects, repetitions included only where lists differ.
func (b *build) storedDeps(r *resource) []addrs.ConfigResource {
	var out []addrs.ConfigResource
	var last *addrs.ConfigResource
	for _, prior := range r.prior {
		for _, inst := range prior.Instances {
			if o := inst.Current; o != nil && len(o.Dependencies) > 0 && last != &o.Dependencies[0] {
				last = &o.Dependencies[0]
				out = append(out, o.Dependencies...)
			}
		}
	}
	return out
}

func (b *build) dropExcluded() {
	var excluded []dag.ID
	for _, r := range b.resources {
		for _, t := range b.excludes {
			if !t.ContainsConfig(r.addr) {
				continue
			}
			if r.selected == nil {
				r.selected = &selection{}
			}
			r.selected.not = append(r.selected.not, t)
			excluded = append(excluded, r.node.ID)
		}
	}
	if b.users == nil {
		b.users = b.graph.Dependents()
	}
	gone := dag.ReachIn(b.users, excluded...)
	roots := []dag.ID{}
	for _, r := range b.resources {
		if r.selected != nil {
			// The resource's other instances stay, unless it depends on something excluded itself.
			if whole(r) || b.dependsOnExcluded(r, gone) {
				continue
			}
			roots = append(roots, r.node.ID)
		} else if !gone[r.node.ID] {
			roots = append(roots, r.node.ID)
		}
	}
	keep := b.graph.Reach(roots...)
	b.keepOutputs(keep)
	b.drop(keep)
}

// whole tells whether every instance that a resource can have is excluded.
func whole(r *resource) bool {
	return slices.ContainsFunc(r.selected.not, func(t addrs.Target) bool {
		noKeys := !slices.ContainsFunc(t.Module.Steps(), func(s addrs.Step) bool { return s.Key != addrs.NoKey })
		return noKeys && (t.IsModule() || !t.HasKey || t.Key == addrs.NoKey)
	})
}

func (b *build) dependsOnExcluded(r *resource, gone []bool) bool {
	for _, dep := range r.deps {
		if other := b.byConfig[dep]; other != nil && gone[other.node.ID] {
			return true
		}
	}
	return false
}

// keepOutputs keeps the root outputs that depend on at least one resource and only on resources that are kept whole.
func (b *build) keepOutputs(keep []bool) {
	for _, v := range b.root.outputs {
		some, all := false, true
		for id, reached := range b.graph.Reach(v.node.ID) {
			n := b.nodes[id]
			if reached && n.Kind == KindResource {
				some = true
				all = all && keep[id]
			}
		}
		if some && all {
			for id, reached := range b.graph.Reach(v.node.ID) {
				if reached {
					keep[id] = true
				}
			}
		}
	}
}
