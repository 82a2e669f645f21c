package states

import (
	"cmp"
	"slices"

	"tofu/internal/addrs"
)

// CompareDependencies is the order of stored dependencies: by text.
func CompareDependencies(x, y addrs.ConfigResource) int {
	if x.Module == y.Module && x.Resource.Mode == y.Resource.Mode {
		return x.Resource.Compare(y.Resource)
	}
	return cmp.Compare(x.String(), y.String())
}

// SameDependencies compares two lists, which are often one.
func SameDependencies(a, b []addrs.ConfigResource) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// UnionDependencies unites two sorted lists, sharing a list where it contains the other.
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

// RenameDependencies follows objects to other addresses. from has the old address of each instance that has a new one. What depended on a
// resource depends on every one that its objects are at now; within a module, where a dependency means the same instance of the
// module, on those that this instance's objects are at.
func (s *State) RenameDependencies(from map[addrs.AbsInstance]addrs.AbsInstance) {
	if len(from) == 0 {
		return
	}
	n := renaming{all: map[addrs.ConfigResource][]addrs.ConfigResource{}, in: map[addrs.AbsResource][]addrs.ConfigResource{}, done: map[sharedList][]addrs.ConfigResource{}}
	old := func(addr addrs.AbsInstance) addrs.AbsInstance {
		if prev, ok := from[addr]; ok {
			return prev
		}
		return addr
	}
	for r := range s.Resources() {
		for key := range r.Instances {
			was := old(r.Addr.Instance(key))
			n.all[was.Config()] = with(n.all[was.Config()], r.Addr.Config())
			n.in[was.Abs()] = with(n.in[was.Abs()], r.Addr.Config())
		}
	}
	s.changeDependencies(func(addr addrs.AbsInstance, _ bool, o *Object) []addrs.ConfigResource {
		return n.rename(old(addr).Module, o.Dependencies)
	})
}

// with adds to a list what it doesn't have.
func with(list []addrs.ConfigResource, addr addrs.ConfigResource) []addrs.ConfigResource {
	if slices.Contains(list, addr) {
		return list
	}
	return append(list, addr)
}

// renaming says which resources the objects of each resource are at now, altogether and for each instance of its module.
type renaming struct {
	all  map[addrs.ConfigResource][]addrs.ConfigResource
	in   map[addrs.AbsResource][]addrs.ConfigResource
	done map[sharedList][]addrs.ConfigResource
}

// sharedList is a list of dependencies, which instances mostly have in common, as it is meant in a module instance.
type sharedList struct {
	first  *addrs.ConfigResource
	len    int
	module addrs.ModuleInstance
}

// rename gives a list as it is now of a dependent that was in a module instance.
func (n *renaming) rename(module addrs.ModuleInstance, list []addrs.ConfigResource) []addrs.ConfigResource {
	if len(list) == 0 {
		return nil
	}
	key := sharedList{&list[0], len(list), module}
	out, ok := n.done[key]
	if !ok {
		inside := module.Module()
		changes := false
		for _, dep := range list {
			now := n.all[dep]
			if dep.Module == inside {
				now = n.in[dep.Resource.InInstance(module)]
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
		n.done[key] = out
	}
	return out
}

// withDependencies gives the object with another list.
func (o *Object) withDependencies(list []addrs.ConfigResource) *Object {
	out := *o
	out.Dependencies = list
	return &out
}

// changeDependencies puts another list into each object for which change gives one.
func (s *State) changeDependencies(change func(addr addrs.AbsInstance, current bool, o *Object) []addrs.ConfigResource) {
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
