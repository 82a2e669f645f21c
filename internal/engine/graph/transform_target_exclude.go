package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
)

// keepNeedsOfOrphans handles excluded resources without a block. It keeps their direct and indirect
// stored dependencies that have no block either. Otherwise these dependencies would be destroyed
// although kept objects depend on them.
func (t *targeting) keepNeedsOfOrphans(excluded []*reads.Resource) {
	var orphans []*reads.Resource
	for _, r := range excluded {
		if r.Config == nil {
			orphans = append(orphans, r)
		}
	}
	needs := func(r *reads.Resource) (kept []*reads.Resource) {
		for dep := range r.StoredDependencies() {
			if q := t.b.g.Resource(dep); q != nil && q.Config == nil && q != r {
				q.Selected = reads.NothingSelected
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
	excluded := t.match(t.b.op.Excludes)
	nodes := make([]*reads.Node, len(excluded))
	for i, r := range excluded {
		r.Selected, nodes[i] = reads.SelectOthers(t.matches[r]), r.Node
	}
	t.keepNeedsOfOrphans(excluded)
	readers := reads.ReadersAmong(t.reads.Dependents(nodes, func(*reads.Node) bool { return true }), t.reads.Reads)
	lost := readers.Search(t.excludedPlaces(readers.Places), func(reads.Reached) bool { return false })
	readersLost := lost.ByResource()
	var roots []dag.ID
	for _, r := range t.b.g.Resources {
		list := readersLost[r]
		switch {
		case t.matches[r] != nil && t.whole(r):
			continue
		case t.lostEverywhere(r, lost):
			r.Selected = reads.NothingSelected
			continue
		case len(list) > 0:
			targets := slices.Clip(t.matches[r])
			for _, x := range list {
				if x.Part != reads.AllParts {
					targets = append(targets, x.Target())
				}
			}
			r.Selected = reads.SelectOthers(targets)
		}
		roots = append(roots, r.Node.ID)
	}
	t.b.g.LeftOut = t.leftOutBy(readersLost)
	keep := t.b.g.Edges.Reach(roots...)
	t.keepOutputs(keep, &outputReads{targeting: t, known: map[reads.Place]bool{}, whole: !t.b.op.PreDestroy})
	t.b.g.participants = &participants{t.reads, lost.Found, true}
	t.b.drop(keep)
}

// excludedPlaces returns the places in a list that are excluded.
func (t *targeting) excludedPlaces(list []reads.Place) []reads.Place {
	var out []reads.Place
	excluded := map[*reads.Resource]*reads.Selection{}
	for _, p := range list {
		r := p.Node.Resource
		if t.matches[r] == nil {
			continue
		}
		if excluded[r] == nil {
			excluded[r] = reads.Select(t.matches[r])
		}
		if excluded[r].Has(p.Instance()) || t.whole(r) {
			out = append(out, p)
		}
	}
	return out
}

// lostEverywhere reports whether a search has reached all instances of a resource, declared or not.
func (t *targeting) lostEverywhere(r *reads.Resource, lost *reads.Search) bool {
	all := t.reads.ModuleInstances(r.Module)
	return len(all) > 0 && !slices.ContainsFunc(all, func(in addrs.ModuleInstance) bool {
		return !lost.Found[reads.Place{Node: r.Node, In: in, Part: reads.BaseParts}] &&
			!lost.Found[reads.InstancePlace(r, in, addrs.UnknownKey)]
	})
}

// whole reports whether every possible instance of a resource is excluded.
func (t *targeting) whole(r *reads.Resource) bool {
	return slices.ContainsFunc(t.matches[r], func(target addrs.Target) bool {
		keyed := slices.ContainsFunc(target.Module.Steps(), func(s addrs.Step) bool { return s.Key != addrs.NoKey })
		return !keyed && (target.IsModule() || !target.HasKey || target.Key == addrs.NoKey)
	})
}
