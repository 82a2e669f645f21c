package states

import (
	"cmp"
	"slices"

	"tofu/internal/addrs"
)

// CompareDependencies compares the texts of two stored dependencies.
func CompareDependencies(x, y addrs.ConfigResource) int {
	if x.Module == y.Module && x.Resource.Mode == y.Resource.Mode {
		return x.Resource.Compare(y.Resource)
	}
	return cmp.Compare(x.String(), y.String())
}

// SameDependencies reports whether two dependency lists are equal. Most equal lists share their
// memory.
func SameDependencies(a, b []addrs.ConfigResource) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// UnionDependencies returns the union of two sorted lists. It returns one of them if that contains
// the other.
func UnionDependencies(a, b []addrs.ConfigResource) []addrs.ConfigResource {
	if len(b) == 0 || SameDependencies(a, b) {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := sortedDependencies(slices.Concat(a, b))
	switch len(out) {
	case len(a):
		return a
	case len(b):
		return b
	}
	return out
}

func sortedDependencies(list []addrs.ConfigResource) []addrs.ConfigResource {
	slices.SortFunc(list, CompareDependencies)
	return slices.Compact(list)
}

// RenameDependencies updates all dependencies after objects moved to other addresses. The map from
// holds the old address of each moved instance. An object that depended on a resource then depends
// on all resources that its instances moved to. A dependency on a resource of the same module means
// the same instance of that module, so only moves out of that instance count there.
func (s *State) RenameDependencies(from map[addrs.AbsInstance]addrs.AbsInstance) {
	if len(from) == 0 {
		return
	}
	n := dependencyRenaming{
		byConfig: map[addrs.ConfigResource][]addrs.ConfigResource{},
		byAbs:    map[addrs.AbsResource][]addrs.ConfigResource{},
		memo:     map[sharedList][]addrs.ConfigResource{},
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
	s.changeDependencies(func(addr addrs.AbsInstance, _ bool, o *Object) []addrs.ConfigResource {
		return n.rename(old(addr).Module, o.Dependencies)
	})
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
	memo     map[sharedList][]addrs.ConfigResource
}

// sharedList identifies a dependency list as used within one module instance. Most instances of a
// resource share their list.
type sharedList struct {
	first  *addrs.ConfigResource
	len    int
	module addrs.ModuleInstance
}

// rename returns the new dependencies of an object that was in module and depended on list.
func (n *dependencyRenaming) rename(module addrs.ModuleInstance, list []addrs.ConfigResource) []addrs.ConfigResource {
	if len(list) == 0 {
		return nil
	}
	key := sharedList{&list[0], len(list), module}
	out, ok := n.memo[key]
	if !ok {
		inside := module.Module()
		changes := false
		for _, dep := range list {
			now := n.byConfig[dep]
			if dep.Module == inside {
				now = n.byAbs[dep.Resource.InInstance(module)]
			}
			if len(now) == 0 {
				now = []addrs.ConfigResource{dep}
			}
			changes = changes || len(now) > 1 || now[0] != dep
			out = append(out, now...)
		}
		if out = sortedDependencies(out); !changes {
			out = list
		}
		n.memo[key] = out
	}
	return out
}

// withDependencies returns a copy of o that has the dependencies in list.
func (o *Object) withDependencies(list []addrs.ConfigResource) *Object {
	out := *o
	out.Dependencies = list
	return &out
}

// changeDependencies replaces the dependencies of each object by the result of change.
func (s *State) changeDependencies(
	change func(addr addrs.AbsInstance, current bool, o *Object) []addrs.ConfigResource,
) {
	for r := range s.Resources() {
		for key, inst := range r.Instances {
			addr := r.Addr.Instance(key)
			if o := inst.Current; o != nil && len(o.Dependencies) > 0 {
				if list := change(addr, true, o); !SameDependencies(list, o.Dependencies) {
					inst.Current = o.withDependencies(list)
				}
			}
			for deposed, o := range inst.Deposed {
				if list := change(addr, false, o); !SameDependencies(list, o.Dependencies) {
					inst.Deposed[deposed] = o.withDependencies(list)
				}
			}
		}
	}
}
