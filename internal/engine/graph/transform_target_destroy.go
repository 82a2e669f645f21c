package graph

import (
	"fmt"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
)

// storedReads finds what the objects in the state depend on. If the state names the instances of a
// resource that an object depends on, the object depends on these. Otherwise it depends on all
// instances of that resource in the same instance of the innermost module that contains both.
type storedReads struct {
	b      *build
	priors map[*reads.Resource]reads.Contents[reads.Place]
}

// of returns the objects that an object depends on. For a place with several objects, it returns
// these objects.
func (s *storedReads) of(p reads.Place) []reads.Read {
	var out []reads.Read
	if p.Part != reads.OnePart {
		for _, x := range s.within(p.Node.Resource, p.In) {
			out = append(out, reads.Read{Of: x})
		}
		return out
	}
	obj := s.b.op.Prior.Current(p.Instance())
	if obj == nil {
		return nil
	}
	named := map[addrs.ConfigResource]bool{}
	for _, dep := range obj.DependencyInstances {
		named[dep.Config()] = true
		if r := s.b.g.Resource(dep.Config()); r != nil && s.b.op.Prior.Instance(dep) != nil {
			out = append(out, reads.Read{Of: reads.InstancePlace(r, dep.Module, dep.Key)})
		}
	}
	for dep := range obj.Dependencies.All() {
		if r := s.b.g.Resource(dep); r != nil && !named[dep] {
			in := reads.Outermost(p.In, reads.SharedDepth(p.Node.Resource.Module, r.Module))
			out = append(out, reads.Read{Of: reads.Place{Node: r.Node, In: in}})
		}
	}
	return out
}

// within returns the instances of a resource in the state that are in, or within, a module instance.
func (s *storedReads) within(r *reads.Resource, at addrs.ModuleInstance) []reads.Place {
	found, known := s.priors[r]
	if !known {
		found = reads.Contents[reads.Place]{}
		for _, prior := range r.Prior {
			for _, key := range prior.SortedKeys() {
				found.Add(prior.Addr.Module, reads.InstancePlace(r, prior.Addr.Module, key))
			}
		}
		s.priors[r] = found
	}
	return found[at]
}

func newStoredReads(b *build) *storedReads {
	return &storedReads{b, map[*reads.Resource]reads.Contents[reads.Place]{}}
}

// named returns the objects in the state that targets name.
func (s *storedReads) named(r *reads.Resource, targets []addrs.Target) []reads.Place {
	selected := reads.Select(targets)
	return slices.DeleteFunc(slices.Clone(s.within(r, "")), func(p reads.Place) bool { return !selected.Has(p.Instance()) })
}

// destroyTargets selects the targets and the objects that depend on them according to the stored
// dependencies. All other objects are only read from the state. Targets without objects in the
// state have no dependents.
func (t *targeting) destroyTargets() {
	var roots []dag.ID
	var from []reads.Place
	targeted := t.match(t.b.op.Targets)
	for _, r := range t.b.g.Resources {
		if r.Addr.Resource.Mode != addrs.Ephemeral { // a provider configuration may need an ephemeral resource
			r.Selected = reads.NothingSelected
		}
	}
	for _, r := range targeted {
		r.Selected = reads.Select(t.matches[r])
		roots = append(roots, r.Node.ID)
		from = append(from, t.stored.named(r, t.matches[r])...)
	}
	for r, list := range t.stored.users().Search(from, func(reads.Reached) bool { return false }).ByResource() {
		r.Selected = t.selectReached(r, onlyInstances(list)).WithOrphans(reads.Select(t.matches[r]))
		for _, x := range list {
			r.Selected.Because(x, fmt.Sprintf("depends on %s", x.By))
		}
		roots = append(roots, r.Node.ID)
	}
	t.b.drop(t.b.g.Edges.Reach(roots...))
}

// onlyInstances returns the elements of a list that are single instances.
func onlyInstances(list []reads.Reached) []reads.Reached {
	return slices.DeleteFunc(slices.Clone(list), func(x reads.Reached) bool { return x.Part != reads.OnePart })
}

// users returns the objects that depend on each object in the state.
func (s *storedReads) users() reads.Readers {
	nodes := make([]*reads.Node, len(s.b.g.Resources))
	for i, r := range s.b.g.Resources {
		nodes[i] = r.Node
	}
	return reads.ReadersAmong(nodes, s.of)
}

// keepExcluded keeps the excluded objects and all objects that they depend on, directly or
// indirectly, when everything else is destroyed.
func (t *targeting) keepExcluded() {
	var from []reads.Place
	for _, r := range t.match(t.b.op.Excludes) {
		r.Selected = reads.SelectOthers(t.matches[r])
		from = append(from, t.stored.named(r, t.matches[r])...)
	}
	needed := reads.Follow(from, t.stored.of).ByResource()
	for _, r := range t.b.g.Resources {
		list := onlyInstances(needed[r])
		if len(list) == 0 {
			continue
		}
		targets := slices.Clip(t.matches[r])
		for _, x := range list {
			targets = append(targets, x.Target())
		}
		r.Selected = reads.SelectOthers(targets)
		t.b.g.LeftOut = append(t.b.g.LeftOut, t.leftOutOf(r, list, reads.SelectOthers(t.matches[r]).Has, isNeededBy)...)
	}
}
