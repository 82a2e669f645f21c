package states

import (
	"slices"

	"tofu/internal/addrs"
)

// Inheritance says what has happened to a state, so that its objects' dependencies can be completed.
type Inheritance struct {
	// Before is the state as it was.
	Before *State
	// Moved has the former address of each instance that the state before has under another one, since lists go on naming that.
	Moved map[addrs.AbsInstance]addrs.AbsInstance
	// Present is the state that says which resources have objects; nil for the state itself.
	Present *State
	// Configured gives what a resource depends on by the configuration; nil for nothing.
	Configured func(addrs.ConfigResource) []addrs.ConfigResource
	// Settled tells whether a current object is as its configuration wants it, so that nothing counts but what that refers to; nil
	// for none.
	Settled func(addrs.AbsInstance, *Object) bool
}

// InheritDependencies keeps the order of destruction whole. Only the nearest dependencies are stored; the order passes on through
// them. So where such a link breaks, because a resource has no object (any more) or its objects don't depend any more on what they
// did, whatever was made from it takes over what is lost.
func (s *State) InheritDependencies(in Inheritance) {
	if len(s.resources) == 0 {
		return
	}
	if in.Present == nil {
		in.Present = s
	}
	h := &heritage{Inheritance: in, present: make(map[addrs.ConfigResource]bool, len(in.Present.resources)),
		links: map[addrs.ConfigResource][]addrs.ConfigResource{}, lists: map[listKey][]addrs.ConfigResource{}}
	for r := range in.Present.Resources() {
		if len(r.Instances) > 0 {
			h.present[r.Addr.Config()] = true
		}
	}
	if !h.keepsAll(s) {
		h.compare(s)
	}
	s.changeDependencies(func(addr addrs.AbsInstance, current bool, o *Object) []addrs.ConfigResource {
		return h.complete(addr.Config(), o.Dependencies, current && h.settled(addr, o))
	})
}

// keepsAll tells whether all objects that were there before still are, under the addresses that they had, and depend on what they did.
// Most often it is so, and then nothing is lost.
func (h *heritage) keepsAll(s *State) bool {
	if len(h.Moved) > 0 {
		return false
	}
	for r := range h.Before.Resources() {
		if len(r.Instances) > 0 && !h.present[r.Addr.Config()] {
			return false
		}
		if s != h.Before && !r.keptBy(s.Resource(r.Addr)) {
			return false
		}
	}
	return true
}

// keptBy tells whether another resource has all instances of this one, and their objects the same dependencies.
func (r *Resource) keptBy(now *Resource) bool {
	for key, inst := range r.Instances {
		if now == nil || now.Instances[key] == nil || !now.Instances[key].Current.dependsLike(inst.Current) {
			return false
		}
		for deposed, o := range inst.Deposed {
			if !now.Instances[key].Deposed[deposed].dependsLike(o) {
				return false
			}
		}
	}
	return true
}

// dependsLike tells whether an object depends on the same as another one; none has less than any.
func (o *Object) dependsLike(other *Object) bool {
	return other == nil || o != nil && SameDependencies(o.Dependencies, other.Dependencies)
}

// dependenciesOf gives what a state's resources depend on, all objects taken together.
func dependenciesOf(s *State) map[addrs.ConfigResource][]addrs.ConfigResource {
	out := map[addrs.ConfigResource][]addrs.ConfigResource{}
	for r := range s.Resources() {
		addr := r.Addr.Config()
		for _, inst := range r.Instances {
			for o := range inst.Objects() {
				out[addr] = UnionDependencies(out[addr], o.Dependencies)
			}
		}
	}
	return out
}

type heritage struct {
	Inheritance
	present map[addrs.ConfigResource]bool // has objects
	stays   map[addrs.ConfigResource]bool // has objects that are not settled: they pass on what they inherit
	old     map[addrs.ConfigResource][]addrs.ConfigResource
	lost    map[addrs.ConfigResource][]addrs.ConfigResource // what a resource's objects depended on, and do no more

	links, losses map[addrs.ConfigResource][]addrs.ConfigResource // memoised
	lists         map[listKey][]addrs.ConfigResource              // instances share lists
}

type listKey struct {
	first   *addrs.ConfigResource
	len     int
	settled bool
}

// settled tells whether an object inherits nothing that others have lost.
func (h *heritage) settled(addr addrs.AbsInstance, o *Object) bool {
	return len(h.lost) == 0 || h.Settled != nil && h.Settled(addr, o)
}

// compare finds out which resources have lost dependencies, and which pass on those of others.
func (h *heritage) compare(s *State) {
	h.old, h.lost = dependenciesOf(h.Before), map[addrs.ConfigResource][]addrs.ConfigResource{}
	for to, from := range h.Moved {
		if inst := h.Before.Instance(to); inst != nil {
			for o := range inst.Objects() {
				h.old[from.Config()] = UnionDependencies(h.old[from.Config()], o.Dependencies)
			}
		}
	}
	now := dependenciesOf(s)
	for addr, old := range h.old {
		switch list := now[addr]; {
		case !h.present[addr]:
			h.lost[addr] = old
		case !SameDependencies(old, list):
			has := make(map[addrs.ConfigResource]bool, len(list))
			for _, dep := range list {
				has[dep] = true
			}
			if gone := slices.DeleteFunc(slices.Clone(old), func(dep addrs.ConfigResource) bool { return has[dep] }); len(gone) > 0 {
				h.lost[addr] = gone
			}
		}
	}
	if len(h.lost) == 0 {
		return
	}
	h.stays, h.losses = map[addrs.ConfigResource]bool{}, map[addrs.ConfigResource][]addrs.ConfigResource{}
	for r := range s.Resources() {
		for key, inst := range r.Instances {
			if len(inst.Deposed) > 0 || inst.Current != nil && !h.settled(r.Addr.Instance(key), inst.Current) {
				h.stays[r.Addr.Config()] = true
			}
		}
	}
}

// complete gives the dependencies of an object with what it inherits.
func (h *heritage) complete(addr addrs.ConfigResource, list []addrs.ConfigResource, settled bool) []addrs.ConfigResource {
	if len(list) == 0 {
		return list
	}
	key := listKey{&list[0], len(list), settled}
	out, ok := h.lists[key]
	if !ok {
		var inherited []addrs.ConfigResource
		for _, dep := range list {
			if !h.present[dep] {
				inherited = append(inherited, h.link(dep)...)
			}
			if !settled {
				inherited = append(inherited, h.loss(dep)...)
			}
		}
		out = UnionDependencies(list, sortedDependencies(inherited))
		h.lists[key] = out
	}
	if at := slices.Index(out, addr); at >= 0 && len(out) > len(list) {
		return slices.Delete(slices.Clone(out), at, at+1)
	}
	return out
}

// link gives what the configuration has behind a resource without objects: down to the nearest resources with objects, and those without
// on the way, of which nothing else in the state tells.
func (h *heritage) link(addr addrs.ConfigResource) []addrs.ConfigResource {
	out, ok := h.links[addr]
	if ok || h.Configured == nil {
		return out
	}
	seen := map[addrs.ConfigResource]bool{addr: true}
	for todo := []addrs.ConfigResource{addr}; len(todo) > 0; {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, dep := range h.Configured(next) {
			if seen[dep] {
				continue
			}
			seen[dep] = true
			out = append(out, dep)
			if !h.present[dep] {
				todo = append(todo, dep)
			}
		}
	}
	out = sortedDependencies(out)
	h.links[addr] = out
	return out
}

// loss gives what a resource doesn't lead to any more and led to before.
func (h *heritage) loss(addr addrs.ConfigResource) []addrs.ConfigResource {
	if len(h.lost) == 0 || h.present[addr] && h.stays[addr] {
		return nil
	}
	out, ok := h.losses[addr]
	if ok {
		return out
	}
	h.losses[addr] = nil // stored lists may go round in a circle
	for _, dep := range h.lost[addr] {
		if h.present[dep] {
			out = append(out, dep)
		}
	}
	for _, dep := range h.old[addr] {
		out = append(out, h.loss(dep)...)
	}
	out = sortedDependencies(out)
	h.losses[addr] = out
	return out
}
