package graph

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

var targetTransformer = &Transformer{
	Name:  "Target",
	Doc:   "keeps the targets and their dependencies, or drops the excluded objects and their dependents",
	After: []*Transformer{referenceTransformer, closeTransformer, importTransformer},
	Run: func(_ context.Context, b *build) error {
		if !b.op.Selective() {
			return nil
		}
		t := &targeting{build: b}
		if b.op.Early != nil {
			t.early = b.op.Early(b.g)
		}
		switch {
		case b.op.Phase.Applies():
			t.skipUnplanned() // planning has selected the resources
		case b.op.Phase.Destroys() && len(b.op.Targets) > 0:
			t.destroyTargets()
		case b.op.Phase.Destroys():
			t.keepExcluded()
		case len(b.op.Targets) > 0:
			t.keepTargets()
		default:
			t.dropExcluded()
		}
		return nil
	},
}

// Selection says which instances of a resource take part.
type Selection struct {
	only []addrs.Target // targets that take part; nil if not is used instead
	not  []addrs.Target // targets that do not take part; used if only is nil

	// These sets hold the targets in only or not that have a key at each step of their module path.
	// There may be many, so they are looked up instead of compared one by one.
	named     map[addrs.AbsInstance]bool
	resources map[addrs.AbsResource]bool
	modules   map[addrs.ModuleInstance]bool

	// kept holds module instances that are left out with everything below them: no instance in them
	// takes part.
	kept map[addrs.ModuleInstance]bool

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
	if within(s.kept, addr.Module) {
		return false
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
	matches map[*Resource][]addrs.Target // the targets or excludes that name a resource

	priors map[*Resource]map[addrs.ModuleInstance][]*states.Resource // see priorIn

	// These fields are for the search by instance; see transform_target_instance.go.
	early   EarlyKeys // nil if targets can only select whole resources
	reached map[*Resource][]addrs.Target
	reasons map[*Resource]map[addrs.AbsInstance]string
	reads   map[*Resource][]IndexedRead
	readers map[*Resource][]*Resource
	readBy  map[*Resource]map[addrs.ModuleInstance]*readers
	stored  *storedInstances

	keptFor  map[addrs.AbsResource]string // why all instances are kept from a destruction
	neededBy map[*Resource]*Resource      // by resource: the first resource from which spread reached it
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
	targeted := t.match(t.op.Targets)
	var roots []dag.ID
	for _, r := range targeted {
		roots = append(roots, r.Node.ID)
	}
	search, from := t.byInstance(targeted, t.needsOf)
	needed := t.spread(from, search, t.g.Edges.Needs, nil)
	for _, r := range t.g.Resources {
		named := nothingSelected
		if t.matches[r] != nil {
			named = Select(t.matches[r])
			r.Selected = named
		}
		switch at := needed[r.Node.ID]; {
		case at != nil || len(t.reached[r]) > 0:
			r.Selected = t.selectAt(r, at)
		case t.matches[r] == nil:
			r.Selected = nothingSelected // only instances that don't exist are read
		}
		r.Selected = r.Selected.withOrphans(named)
		r.Selected.reasons = t.reasons[r]
		if by := t.neededBy[r]; by != nil && by.Config != nil {
			r.Selected.reason = fmt.Sprintf("needed by %s at %s", by.Addr, tfdiags.Place(by.refersAt(r)))
		}
	}
	t.g.LeftOut = t.readersLeftOut()
	keep := t.g.Edges.Reach(roots...)
	t.keepOutputs(keep, func(id dag.ID) bool { return keep[id] })
	t.drop(keep)
}

// destroyTargets selects the targets and the resources that depend on them according to the stored
// dependencies. All other resources are only read from the state. Targets without objects in the
// state have no dependents.
func (t *targeting) destroyTargets() {
	targeted := t.match(t.op.Targets)
	for _, r := range t.g.Resources {
		if r.Addr.Resource.Mode != addrs.Ephemeral { // a provider configuration may need them
			r.Selected = nothingSelected
		}
	}
	var roots []dag.ID
	for _, r := range targeted {
		r.Selected = Select(t.matches[r])
		roots = append(roots, r.Node.ID)
	}
	there := slices.DeleteFunc(targeted, func(r *Resource) bool { return !r.hasAny(r.Selected) })
	search, from := t.byInstance(there, t.storedUsersOf)
	users := t.spread(from, search, t.storedUsers(), nil)
	for _, r := range t.g.Resources {
		if at := users[r.Node.ID]; at != nil || len(t.reached[r]) > 0 {
			r.Selected = t.selectAt(r, at).withOrphans(Select(t.matches[r]))
			r.Selected.reasons = t.reasons[r]
			if by := t.neededBy[r]; by != nil {
				r.Selected.reason = "depends on " + by.Addr.String()
			}
			roots = append(roots, r.Node.ID)
		}
	}
	t.drop(t.g.Edges.Reach(roots...))
}

// hasAny reports whether the state has an instance of r that s selects.
func (r *Resource) hasAny(s *Selection) bool {
	return slices.ContainsFunc(r.Prior, func(prior *states.Resource) bool {
		for key := range prior.Instances {
			if s.Has(prior.Addr.Instance(key)) {
				return true
			}
		}
		return false
	})
}

// usersByStored returns, by the address of a resource, the resources that depend on it according to
// the stored dependencies.
func (t *targeting) usersByStored() map[addrs.ConfigResource][]*Resource {
	users := map[addrs.ConfigResource][]*Resource{}
	for _, r := range t.g.Resources {
		for dep := range r.storedDeps() {
			users[dep] = append(users[dep], r)
		}
	}
	return users
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

// keepOutputs keeps the root outputs that depend on at least one resource and only on complete
// resources. An output that also reads an excluded instance would change only in part.
func (t *targeting) keepOutputs(keep []bool, complete func(dag.ID) bool) {
	order, ok := t.g.Edges.Order()
	if !ok {
		return // the cycle is reported at the end
	}
	some, all := make([]bool, len(t.g.Nodes)), make([]bool, len(t.g.Nodes))
	for _, id := range order {
		n := t.g.Nodes[id]
		all[id] = true
		if n.Kind.IsResource() {
			some[id], all[id] = true, complete(id)
		}
		for _, need := range t.g.Edges.Needs(id) {
			some[id] = some[id] || some[need]
			all[id] = all[id] && all[need]
		}
	}
	var roots []dag.ID
	for _, v := range t.g.Root.Outputs {
		if some[v.Node.ID] && all[v.Node.ID] {
			roots = append(roots, v.Node.ID)
		}
	}
	for id, reached := range t.g.Edges.Reach(roots...) {
		keep[id] = keep[id] || reached
	}
}
