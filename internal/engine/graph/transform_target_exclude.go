package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

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
	for range dag.Reachable(orphans, needs) { // needs marks the resources that it returns as kept
	}
}

// dropExcluded drops the excluded resources and their dependents.
func (t *targeting) dropExcluded() {
	excluded := t.match(t.op.Excludes)
	nodes := make([]*Node, len(excluded))
	for i, r := range excluded {
		r.Selected, nodes[i] = SelectOthers(t.matches[r]), r.Node
	}
	t.keepNeedsOfOrphans(excluded)
	readers := readersAmong(t.reads.dependents(nodes, func(*Node) bool { return true }), t.reads.of)
	lost := readers.search(t.excludedPlaces(readers.places), func(reached) bool { return false })
	readersLost := lost.byResource()
	var roots []dag.ID
	for _, r := range t.g.Resources {
		list := readersLost[r]
		switch {
		case t.matches[r] != nil && t.whole(r):
			continue
		case t.lostEverywhere(r, lost):
			r.Selected = nothingSelected
			continue
		case len(list) > 0:
			targets := slices.Clip(t.matches[r])
			for _, x := range list {
				if x.part != allParts {
					targets = append(targets, x.target())
				}
			}
			r.Selected = SelectOthers(targets)
		}
		roots = append(roots, r.Node.ID)
	}
	t.g.LeftOut = t.leftOutBy(readersLost)
	keep := t.g.Edges.Reach(roots...)
	t.keepOutputs(keep, &outputReads{targeting: t, known: map[place]bool{}, whole: !t.op.PreDestroy})
	t.g.participants = &participants{t.reads, lost.found, true}
	t.drop(keep)
}

// excludedPlaces returns the places in a list that are excluded.
func (t *targeting) excludedPlaces(list []place) []place {
	var out []place
	excluded := map[*Resource]*Selection{}
	for _, p := range list {
		r := p.n.Resource
		if t.matches[r] == nil {
			continue
		}
		if excluded[r] == nil {
			excluded[r] = Select(t.matches[r])
		}
		if excluded[r].Has(p.instance()) || t.whole(r) {
			out = append(out, p)
		}
	}
	return out
}

// lostEverywhere reports whether a search has reached all instances of a resource, declared or not.
func (t *targeting) lostEverywhere(r *Resource, lost *search) bool {
	all := t.reads.instancesOf(r.Module).all
	return len(all) > 0 && !slices.ContainsFunc(all, func(in addrs.ModuleInstance) bool {
		return !lost.found[place{n: r.Node, in: in, part: baseParts}] &&
			!lost.found[instancePlace(r, in, addrs.UnknownKey)]
	})
}

// whole reports whether every possible instance of a resource is excluded.
func (t *targeting) whole(r *Resource) bool {
	return slices.ContainsFunc(t.matches[r], func(target addrs.Target) bool {
		keyed := slices.ContainsFunc(target.Module.Steps(), func(s addrs.Step) bool { return s.Key != addrs.NoKey })
		return !keyed && (target.IsModule() || !target.HasKey || target.Key == addrs.NoKey)
	})
}
