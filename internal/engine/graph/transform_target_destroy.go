package graph

import (
	"fmt"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// storedReads finds what the objects in the state depend on. If the state names the instances of a
// resource that an object depends on, the object depends on these. Otherwise it depends on all
// instances of that resource in the same instance of the innermost module that contains both.
type storedReads struct {
	*build
	priors map[*Resource]map[addrs.ModuleInstance][]place // by module instance that contains the places
}

// of returns the objects that an object depends on. For a place with several objects, it returns
// these objects.
func (s *storedReads) of(p place) []read {
	var out []read
	if p.part != onePart {
		for _, x := range s.within(p.n.Resource, p.in) {
			out = append(out, read{of: x})
		}
		return out
	}
	inst := s.op.Prior.Instance(p.instance())
	if inst == nil || inst.Current == nil {
		return nil
	}
	named := map[addrs.ConfigResource]bool{}
	for _, dep := range inst.Current.DependencyInstances {
		named[dep.Config()] = true
		if r := s.g.Resource(dep.Config()); r != nil && s.op.Prior.Instance(dep) != nil {
			out = append(out, read{of: instancePlace(r, dep.Module, dep.Key)})
		}
	}
	for dep := range inst.Current.Dependencies.All() {
		if r := s.g.Resource(dep); r != nil && !named[dep] {
			in := outermost(p.in, sharedDepth(p.n.Resource.Module, r.Module))
			out = append(out, read{of: place{n: r.Node, in: in}})
		}
	}
	return out
}

// within returns the instances of a resource in the state that are in, or within, a module instance.
func (s *storedReads) within(r *Resource, at addrs.ModuleInstance) []place {
	found, known := s.priors[r]
	if !known {
		found = map[addrs.ModuleInstance][]place{}
		for _, prior := range r.Prior {
			var all []place
			for _, key := range prior.SortedKeys() {
				all = append(all, instancePlace(r, prior.Addr.Module, key))
			}
			for m := prior.Addr.Module; ; m, _ = m.Parent() {
				found[m] = append(found[m], all...)
				if m.IsRoot() {
					break
				}
			}
		}
		s.priors[r] = found
	}
	return found[at]
}

func newStoredReads(b *build) *storedReads {
	return &storedReads{b, map[*Resource]map[addrs.ModuleInstance][]place{}}
}

// named returns the objects in the state that targets name.
func (s *storedReads) named(r *Resource, targets []addrs.Target) []place {
	selected := Select(targets)
	return slices.DeleteFunc(slices.Clone(s.within(r, "")), func(p place) bool { return !selected.Has(p.instance()) })
}

// destroyTargets selects the targets and the objects that depend on them according to the stored
// dependencies. All other objects are only read from the state. Targets without objects in the
// state have no dependents.
func (t *targeting) destroyTargets() {
	var roots []dag.ID
	var from []place
	targeted := t.match(t.op.Targets)
	for _, r := range t.g.Resources {
		if r.Addr.Resource.Mode != addrs.Ephemeral { // a provider configuration may need an ephemeral resource
			r.Selected = nothingSelected
		}
	}
	for _, r := range targeted {
		r.Selected = Select(t.matches[r])
		roots = append(roots, r.Node.ID)
		from = append(from, t.stored.named(r, t.matches[r])...)
	}
	for r, list := range t.stored.users().search(from, func(reached) bool { return false }).byResource() {
		r.Selected = t.selectReached(r, onlyInstances(list)).withOrphans(Select(t.matches[r]))
		for _, x := range list {
			r.Selected.because(x, fmt.Sprintf("depends on %s", x.by))
		}
		roots = append(roots, r.Node.ID)
	}
	t.drop(t.g.Edges.Reach(roots...))
}

// onlyInstances returns the elements of a list that are single instances.
func onlyInstances(list []reached) []reached {
	return slices.DeleteFunc(slices.Clone(list), func(x reached) bool { return x.part != onePart })
}

// users returns the objects that depend on each object in the state.
func (s *storedReads) users() readers {
	nodes := make([]*Node, len(s.g.Resources))
	for i, r := range s.g.Resources {
		nodes[i] = r.Node
	}
	return readersAmong(nodes, s.of)
}

// keepExcluded keeps the excluded objects and all objects that they depend on, directly or
// indirectly, when everything else is destroyed.
func (t *targeting) keepExcluded() {
	var from []place
	for _, r := range t.match(t.op.Excludes) {
		r.Selected = SelectOthers(t.matches[r])
		from = append(from, t.stored.named(r, t.matches[r])...)
	}
	needed := placesRead(from, t.stored.of).byResource()
	for _, r := range t.g.Resources {
		list := onlyInstances(needed[r])
		if len(list) == 0 {
			continue
		}
		targets := slices.Clip(t.matches[r])
		for _, x := range list {
			targets = append(targets, x.target())
		}
		r.Selected = SelectOthers(targets)
		t.g.LeftOut = append(t.g.LeftOut, t.leftOutOf(r, list, SelectOthers(t.matches[r]).Has, isNeededBy)...)
	}
}
