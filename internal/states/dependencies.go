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

// RenameDependencies follows resources whose objects have got other addresses. Where only some have, nobody knows whose dependents
// they had: the configuration will tell.
func (s *State) RenameDependencies(renamed map[addrs.ConfigResource]addrs.ConfigResource) {
	for r := range s.Resources() {
		delete(renamed, r.Addr.Config())
	}
	s.changeDependencies(func(_ addrs.AbsInstance, _ bool, o *Object) []addrs.ConfigResource {
		isRenamed := func(dep addrs.ConfigResource) bool { _, ok := renamed[dep]; return ok }
		if !slices.ContainsFunc(o.Dependencies, isRenamed) {
			return o.Dependencies
		}
		out := slices.Clone(o.Dependencies)
		for i, dep := range out {
			if to, ok := renamed[dep]; ok {
				out[i] = to
			}
		}
		return sortedDependencies(out)
	})
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
