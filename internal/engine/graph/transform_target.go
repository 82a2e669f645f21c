package graph

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/phase"
	"tofu/internal/states"
)

var targetTransformer = &Transformer{
	Name:  "Target",
	Doc:   "keeps the targets and their dependencies, or drops the excluded objects and their dependents",
	After: []*Transformer{referenceTransformer, closeTransformer, importTransformer},
	Run: func(_ context.Context, b *build) error {
		if !b.op.Selective() {
			return nil
		}
		t := &targeting{build: b, reads: newPlaceReads(b, nil), stored: newStoredReads(b)}
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

// Selection is the set of instances of a resource that take part in an operation.
type Selection struct {
	only []addrs.Target // targets that take part; nil if the field not is used instead
	not  []addrs.Target // targets that do not take part; used if only is nil

	// These sets hold the targets that have a key at each step of their module path. They take part
	// if only is not nil. There may be many, so they are looked up instead of compared one by one.
	// The fields above hold the other targets.
	named     map[addrs.AbsInstance]bool
	resources map[addrs.AbsResource]bool
	modules   map[addrs.ModuleInstance]bool

	// orphans selects among deposed objects and the instances that the configuration no longer
	// declares. No other resource depends on these objects, so only targets that name them select
	// them. Nil selects all of them.
	orphans *Selection

	// reasons says why instances that no target names take part, and reason says why the resource
	// as a whole does.
	reasons map[addrs.AbsInstance]string
	reason  string
}

// NeededBy says why an instance that no target names takes part, or "" if that is not known.
func (s *Selection) NeededBy(addr addrs.AbsInstance) string {
	switch {
	case s == nil:
		return ""
	case s.reasons[addr] != "":
		return s.reasons[addr]
	case s.reason == "" || s.orphans.Has(addr):
		return ""
	}
	return s.reason
}

// nothingSelected selects no instance.
var nothingSelected = &Selection{only: []addrs.Target{}}

// Has reports whether an instance takes part.
func (s *Selection) Has(addr addrs.AbsInstance) bool {
	if s == nil {
		return true
	}
	in := func(list []addrs.Target) bool {
		return s.named[addr] || s.resources[addr.Abs()] || within(s.modules, addr.Module) ||
			slices.ContainsFunc(list, func(t addrs.Target) bool { return t.ContainsInstance(addr) })
	}
	if s.only != nil {
		return in(s.only)
	}
	return !in(s.not)
}

// HasOrphan reports whether an instance that the configuration no longer declares takes part.
func (s *Selection) HasOrphan(addr addrs.AbsInstance) bool {
	return s.Has(addr) && (s == nil || s.orphans.Has(addr))
}

// withOrphans returns a Selection with the same declared instances as s and the orphans that
// another Selection selects.
func (s *Selection) withOrphans(orphans *Selection) *Selection {
	var out Selection
	if s != nil {
		out = *s
	}
	out.orphans = orphans
	return &out
}

// within reports whether a set contains m or a module instance that contains m.
func within(set map[addrs.ModuleInstance]bool, m addrs.ModuleInstance) bool {
	for ; len(set) > 0 && !m.IsRoot(); m, _ = m.Parent() {
		if set[m] {
			return true
		}
	}
	return false
}

// Select returns a Selection of the instances that the targets name.
func Select(targets []addrs.Target) *Selection {
	s, rest := newSelection(targets)
	s.only = rest
	return s
}

// SelectOthers returns a Selection of all instances that the targets do not name.
func SelectOthers(targets []addrs.Target) *Selection {
	s, rest := newSelection(targets)
	s.not = rest
	return s
}

// newSelection returns a Selection with the targets that can be looked up, and the rest of the
// targets.
func newSelection(list []addrs.Target) (s *Selection, rest []addrs.Target) {
	s = &Selection{
		named: map[addrs.AbsInstance]bool{}, resources: map[addrs.AbsResource]bool{},
		modules: map[addrs.ModuleInstance]bool{},
	}
	rest = []addrs.Target{}
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
	return s, rest
}

// hasOpenStep reports whether a step of a target's module has no key, so that it may cover several
// instances.
func hasOpenStep(m addrs.ModuleInstance) bool {
	return slices.ContainsFunc(m.Steps(), func(s addrs.Step) bool { return s.Key == addrs.NoKey })
}

// targeting selects the resources and instances that take part in the operation.
type targeting struct {
	*build
	reads   *placeReads
	stored  *storedReads
	matches map[*Resource][]addrs.Target // the targets or excludes that name a resource
}

// match returns the resources that the addresses name, and sets matches.
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

// keepTargets keeps the targets and their dependencies. Objects that exist only in the state take
// part only if a target names them.
func (t *targeting) keepTargets() {
	var roots []dag.ID
	var from []place
	for _, r := range t.match(t.op.Targets) {
		roots = append(roots, r.Node.ID)
		from = append(from, t.placesOf(r)...)
	}
	for _, a := range t.actions {
		if a.Node.Kind == KindAction {
			roots, from = append(roots, a.Node.ID), append(from, place{n: a.Node})
		}
	}
	found := placesRead(from, t.reads.of)
	needed := found.byResource()
	for _, r := range t.g.Resources {
		named := nothingSelected
		if t.matches[r] != nil {
			named = Select(t.matches[r])
		}
		r.Selected = t.selectReached(r, needed[r]).withOrphans(named)
		for _, x := range needed[r] {
			if by := x.by.n; by == nil || by.Resource == nil || by.Resource.Config == nil {
				continue
			}
			r.Selected.because(x, fmt.Sprintf("needed by %s at %s", x.by, placeOf(x.at)))
		}
	}
	t.g.LeftOut = t.readersLeftOut()
	keep := t.g.Edges.Reach(roots...)
	t.keepOutputs(keep, &outputReads{targeting: t, known: found.found})
	t.g.participants = &participants{t.reads, found.found, false}
	t.drop(keep)
}

// keepPlanned finds what planned changes, outputs and provider configurations need, when a partial plan
// is applied.
func (t *targeting) keepPlanned() {
	var from []place
	for _, r := range t.g.Resources {
		for _, s := range t.steps[r] {
			from = append(from, instancePlace(r, s.Change.Addr.Module, s.Change.Addr.Key))
		}
	}
	for _, n := range t.g.Nodes {
		if n.Kind == KindProvider || n.Kind.IsValue() && n.kept {
			from = append(from, place{n: n})
		}
	}
	t.g.participants = &participants{t.reads, placesRead(from, t.reads.of).found, false}
}

// placesOf returns the places of a resource that targets name.
func (t *targeting) placesOf(r *Resource) []place {
	var out []place
	named := Select(t.matches[r])
	for _, in := range t.reads.instancesOf(r.Module).all {
		keys := t.reads.keys(r, in)
		for _, key := range keys {
			if p := instancePlace(r, in, key); named.Has(p.instance()) {
				out = append(out, p)
			}
		}
		// If there are no instances, the objects that decide this still take part.
		if p := (place{n: r.Node, in: in, part: baseParts}); len(keys) == 0 && named.Has(p.instance()) {
			out = append(out, p)
		}
	}
	return out
}

// selectReached returns a Selection of the instances of a resource that targets name or that a
// search has reached. It returns nil, which selects all instances, if a reached place may be
// anywhere.
func (t *targeting) selectReached(r *Resource, list []reached) *Selection {
	targets := slices.Clip(t.matches[r])
	for _, x := range list {
		if x.part == baseParts {
			continue
		}
		target := x.target()
		if target.IsModule() && target.Module.IsRoot() {
			return nil
		}
		targets = append(targets, target)
	}
	if len(targets) == 0 {
		return nothingSelected
	}
	return Select(targets)
}

// because records the reason why the instances in a place take part. A search reaches an instance
// once, but may reach the resource as a whole in several places. because keeps the first reason.
func (s *Selection) because(x reached, reason string) {
	switch {
	case x.part == allParts && s.reason == "":
		s.reason = reason
	case x.part == onePart:
		if s.reasons == nil {
			s.reasons = map[addrs.AbsInstance]string{}
		}
		s.reasons[x.instance()] = reason
	}
}

// StoredDependencies returns the resources that the state records as dependencies of the resource's
// current objects. It may return the same resource several times.
func (r *Resource) StoredDependencies() iter.Seq[addrs.ConfigResource] { return r.storedDeps() }

// storedDeps returns the stored dependencies of a resource's current objects. It may return the
// same one several times if the dependencies of the objects differ.
func (r *Resource) storedDeps() iter.Seq[addrs.ConfigResource] { return storedDependencies(r.Prior...) }

func storedDependencies(of ...*states.Resource) iter.Seq[addrs.ConfigResource] {
	return func(yield func(addrs.ConfigResource) bool) {
		var last *states.Dependencies
		for _, prior := range of {
			for _, inst := range prior.Instances {
				if inst.Current == nil || inst.Current.Dependencies == last {
					continue
				}
				last = inst.Current.Dependencies
				for dep := range last.All() {
					if !yield(dep) {
						return
					}
				}
			}
		}
	}
}
