package graph

import (
	"context"
	"fmt"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
)

var targetTransformer = &Transformer{
	Name:  "Target",
	Doc:   "keeps the targets and their dependencies, or drops the excluded objects and their dependents",
	After: []*Transformer{referenceTransformer, closeTransformer, importTransformer},
	Run: func(_ context.Context, b *build) error {
		if !b.op.Selective() {
			return nil
		}
		t := &targeting{b: b, reads: b.source().Selecting(), stored: newStoredReads(b)}
		switch {
		case b.op.Phase.Applies(): // planning has selected the resources
			t.skipUnplanned()
			if b.op.Phase == phase.Apply {
				t.keepPlanned()
			}
		case b.op.Phase.Destroys() && len(b.op.Targets) > 0:
			t.destroyTargets()
		case b.op.Phase.Destroys():
			t.keepExcluded()
		case len(b.op.Targets)+len(b.op.Invoke) > 0:
			t.keepTargets()
		default:
			t.dropExcluded()
		}
		return nil
	},
}

// targeting selects the resources and instances that take part in the operation.
type targeting struct {
	b       *build
	reads   *reads.Places
	stored  *storedReads
	matches map[*reads.Resource][]addrs.Target // the targets or excludes that name a resource
}

// match returns the resources that the addresses name, and sets matches.
func (t *targeting) match(list []addrs.Target) []*reads.Resource {
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
	t.matches = map[*reads.Resource][]addrs.Target{}
	var out []*reads.Resource
	for _, r := range t.b.g.Resources {
		hits := byResource[r.Addr]
		for m := r.Addr.Module; ; m, _ = m.Parent() {
			hits = append(slices.Clip(hits), byModule[m]...)
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

// skipUnplanned drops, when a partial plan is applied, the outputs, checks and conditions that were
// not part of the plan, unless a planned change needs them.
func (t *targeting) skipUnplanned() {
	for _, n := range t.b.g.Nodes {
		if n.Kind == reads.KindCheck {
			n.Kept = false
		}
	}
	for _, v := range t.b.g.Values {
		root := v.Kind == reads.Output && v.Module.Parent == nil
		if root && t.b.op.Plan.Changes.Output(v.Name) == nil || !root && len(v.Conditions) > 0 {
			v.Node.Kept = false
		}
	}
}

// keepTargets keeps the targets and their dependencies. Objects that exist only in the state take
// part only if a target names them.
func (t *targeting) keepTargets() {
	var roots []dag.ID
	var from []reads.Place
	for _, r := range t.match(t.b.op.Targets) {
		roots = append(roots, r.Node.ID)
		from = append(from, t.placesOf(r)...)
	}
	for _, a := range t.b.actions {
		if a.Node.Kind == reads.KindAction {
			roots, from = append(roots, a.Node.ID), append(from, reads.Place{Node: a.Node})
		}
	}
	found := reads.Follow(from, t.reads.Reads)
	needed := found.ByResource()
	for _, r := range t.b.g.Resources {
		named := reads.NothingSelected
		if t.matches[r] != nil {
			named = reads.Select(t.matches[r])
		}
		r.Selected = t.selectReached(r, needed[r]).WithOrphans(named)
		for _, x := range needed[r] {
			if by := x.By.Node; by == nil || by.Resource == nil || by.Resource.Config == nil {
				continue
			}
			r.Selected.Because(x, fmt.Sprintf("needed by %s at %s", x.By, placeOf(x.At)))
		}
	}
	t.b.g.LeftOut = t.readersLeftOut()
	keep := t.b.g.Edges.Reach(roots...)
	t.keepOutputs(keep, &outputReads{targeting: t, known: found.Found})
	t.b.g.participants = &participants{t.reads, found.Found, false}
	t.b.drop(keep)
}

// keepPlanned finds what planned changes, outputs and provider configurations need, when a partial plan
// is applied.
func (t *targeting) keepPlanned() {
	var from []reads.Place
	for _, r := range t.b.g.Resources {
		for _, s := range t.b.steps[r] {
			from = append(from, reads.InstancePlace(r, s.Change.Addr.Module, s.Change.Addr.Key))
		}
	}
	for _, n := range t.b.g.Nodes {
		if n.Kind == reads.KindProvider || n.Kind.IsValue() && n.Kept {
			from = append(from, reads.Place{Node: n})
		}
	}
	t.b.g.participants = &participants{t.reads, reads.Follow(from, t.reads.Reads).Found, false}
}

// placesOf returns the places of a resource that targets name.
func (t *targeting) placesOf(r *reads.Resource) []reads.Place {
	var out []reads.Place
	named := reads.Select(t.matches[r])
	for _, in := range t.reads.ModuleInstances(r.Module) {
		keys := t.reads.Keys(r, in)
		for _, key := range keys {
			if p := reads.InstancePlace(r, in, key); named.Has(p.Instance()) {
				out = append(out, p)
			}
		}
		// If there are no instances, the objects that decide this still take part.
		if p := (reads.Place{Node: r.Node, In: in, Part: reads.BaseParts}); len(keys) == 0 && named.Has(p.Instance()) {
			out = append(out, p)
		}
	}
	return out
}

// selectReached returns a Selection of the instances of a resource that targets name or that a
// search has reached. It returns nil, which selects all instances, if a reached place may be
// anywhere.
func (t *targeting) selectReached(r *reads.Resource, list []reads.Reached) *reads.Selection {
	targets := slices.Clip(t.matches[r])
	for _, x := range list {
		if x.Part == reads.BaseParts {
			continue
		}
		target := x.Target()
		if target.IsModule() && target.Module.IsRoot() {
			return nil
		}
		targets = append(targets, target)
	}
	if len(targets) == 0 {
		return reads.NothingSelected
	}
	return reads.Select(targets)
}
