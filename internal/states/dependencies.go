package states

import (
	"bytes"
	"iter"
	"slices"

	"tofu/internal/addrs"
)

// Dependencies is an immutable set of resources. Objects of the same resource usually share one
// set, so results that are computed from a set can be cached by its pointer. Nil is the empty set.
type Dependencies struct {
	list []addrs.ConfigResource // sorted with compareDependencies, without duplicates
}

// NewDependencies returns the set of the resources in list. The caller must not use list
// afterwards.
func NewDependencies(list []addrs.ConfigResource) *Dependencies {
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, compareDependencies)
	return &Dependencies{slices.Compact(list)}
}

// compareDependencies orders resources by address. It compares the types and then the names of
// resources of the same module and mode, and the text of all other addresses.
func compareDependencies(x, y addrs.ConfigResource) int {
	if x.Module == y.Module && x.Resource.Mode == y.Resource.Mode {
		return x.Resource.Compare(y.Resource)
	}
	var a, b [128]byte
	return bytes.Compare(x.AppendText(a[:0]), y.AppendText(b[:0]))
}

// All returns the resources of the set, sorted by address.
func (d *Dependencies) All() iter.Seq[addrs.ConfigResource] { return slices.Values(d.sorted()) }

func (d *Dependencies) sorted() []addrs.ConfigResource {
	if d == nil {
		return nil
	}
	return d.list
}

// Len returns the number of resources in the set.
func (d *Dependencies) Len() int { return len(d.sorted()) }

// Contains reports whether the set contains all elements of other.
func (d *Dependencies) Contains(other *Dependencies) bool {
	list := d.sorted()
	for _, dep := range other.sorted() {
		i := slices.Index(list, dep)
		if i < 0 {
			return false
		}
		list = list[i+1:]
	}
	return true
}

// Has reports whether the set contains a resource.
func (d *Dependencies) Has(addr addrs.ConfigResource) bool {
	_, ok := slices.BinarySearchFunc(d.sorted(), addr, compareDependencies)
	return ok
}

// Equal reports whether two sets have the same elements.
func (d *Dependencies) Equal(other *Dependencies) bool {
	return d == other || slices.Equal(d.sorted(), other.sorted())
}

// Union returns the union of two sets. If one of them contains the other, it returns that set
// itself.
func (d *Dependencies) Union(other *Dependencies) *Dependencies {
	switch {
	case other == nil || d.Equal(other):
		return d
	case d == nil:
		return other
	}
	out := NewDependencies(slices.Concat(d.list, other.list))
	switch out.Len() {
	case d.Len():
		return d
	case other.Len():
		return other
	}
	return out
}

// RenameDependencies updates all dependencies after objects have moved to other addresses. The
// parameter from maps the new address of each moved instance to its old one. If an object depended
// on a resource, it then depends on all resources that instances of that resource moved to. A
// dependency on a resource in the same module refers only to the same instance of that module. So
// for such a dependency, moves out of other instances of the module are ignored. An object never
// depends on its own resource: if one that it depended on moved there, only DependencyInstances
// still has it. OpenTofu can't destroy objects that list their own resource.
func (s *State) RenameDependencies(from map[addrs.AbsInstance]addrs.AbsInstance) {
	if len(from) == 0 {
		return
	}
	n := dependencyRenaming{
		byConfig: map[addrs.ConfigResource][]addrs.ConfigResource{},
		byAbs:    map[addrs.AbsResource][]addrs.ConfigResource{},
		memo:     map[dependenciesIn]*Dependencies{},
	}
	old := func(addr addrs.AbsInstance) addrs.AbsInstance {
		if prev, ok := from[addr]; ok {
			return prev
		}
		return addr
	}
	for r := range s.Resources() {
		for key := range r.Instances {
			was := old(r.Addr.Instance(key))
			n.byConfig[was.Config()] = appendUnique(n.byConfig[was.Config()], r.Addr.Config())
			n.byAbs[was.Abs()] = appendUnique(n.byAbs[was.Abs()], r.Addr.Config())
		}
	}
	s.changeDependencies(func(addr addrs.AbsInstance, _ bool, o *Object) *Dependencies {
		return n.rename(old(addr).Module, o.Dependencies).WithoutOwn(addr.Config())
	})
	s.renameInstances(from)
}

// renameInstances updates the instances on which objects depend after some of these instances have
// moved to other addresses.
func (s *State) renameInstances(from map[addrs.AbsInstance]addrs.AbsInstance) {
	now := make(map[addrs.AbsInstance]addrs.AbsInstance, len(from))
	for to, was := range from {
		now[was] = to
	}
	renamed := func(o *Object) *Object {
		moved := func(addr addrs.AbsInstance) bool { _, ok := now[addr]; return ok }
		if !slices.ContainsFunc(o.DependencyInstances, moved) {
			return o
		}
		out := *o
		out.DependencyInstances = slices.Clone(o.DependencyInstances)
		for i, addr := range out.DependencyInstances {
			if moved(addr) {
				out.DependencyInstances[i] = now[addr]
			}
		}
		return &out
	}
	s.replaceObjects(func(_ addrs.AbsInstance, _ addrs.DeposedKey, o *Object) *Object { return renamed(o) })
}

// appendUnique appends addr to list unless it is already there.
func appendUnique(list []addrs.ConfigResource, addr addrs.ConfigResource) []addrs.ConfigResource {
	if slices.Contains(list, addr) {
		return list
	}
	return append(list, addr)
}

// dependencyRenaming holds the new addresses of each resource's objects, for the whole
// configuration and for each module instance.
type dependencyRenaming struct {
	byConfig map[addrs.ConfigResource][]addrs.ConfigResource
	byAbs    map[addrs.AbsResource][]addrs.ConfigResource
	memo     map[dependenciesIn]*Dependencies
}

// dependenciesIn is a set of dependencies of objects in one module instance.
type dependenciesIn struct {
	set    *Dependencies
	module addrs.ModuleInstance
}

// WithoutOwn returns the dependencies of objects of a resource without that resource.
func (d *Dependencies) WithoutOwn(of addrs.ConfigResource) *Dependencies {
	if !d.Has(of) {
		return d
	}
	return d.Without(NewDependencies([]addrs.ConfigResource{of}))
}

// rename returns the new dependencies of an object that was in module and had the dependencies
// deps.
func (n *dependencyRenaming) rename(module addrs.ModuleInstance, deps *Dependencies) *Dependencies {
	if deps == nil {
		return nil
	}
	key := dependenciesIn{deps, module}
	out, ok := n.memo[key]
	if !ok {
		inside := module.Module()
		var list []addrs.ConfigResource
		for dep := range deps.All() {
			now := n.byConfig[dep]
			if dep.Module == inside {
				now = n.byAbs[dep.Resource.InInstance(module)]
			}
			if len(now) == 0 {
				now = []addrs.ConfigResource{dep}
			}
			list = append(list, now...)
		}
		out = NewDependencies(list)
		if out.Equal(deps) {
			out = deps
		}
		n.memo[key] = out
	}
	return out
}

// withDependencies returns a copy of o that has the given dependencies.
func (o *Object) withDependencies(deps *Dependencies) *Object {
	out := *o
	out.Dependencies = deps
	return &out
}

// changeDependencies replaces the dependencies of each object with the result of change. For nil
// dependencies, change must return nil.
func (s *State) changeDependencies(change func(addr addrs.AbsInstance, current bool, o *Object) *Dependencies) {
	s.replaceObjects(func(addr addrs.AbsInstance, deposed addrs.DeposedKey, o *Object) *Object {
		current := deposed == addrs.NotDeposed
		if current && o.Dependencies == nil {
			return o
		}
		if deps := change(addr, current, o); !deps.Equal(o.Dependencies) {
			return o.withDependencies(deps)
		}
		return o
	})
}
