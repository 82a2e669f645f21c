package states

import (
	"slices"

	"tofu/internal/addrs"
)

// DependencyRepair describes the changes of a state after which RepairDependencies completes its
// dependencies.
type DependencyRepair struct {
	// Before is the state before the changes.
	Before *State
	// Moved holds the former address of each instance that has another address in Before.
	// Dependency lists still contain the former ones.
	Moved map[addrs.AbsInstance]addrs.AbsInstance
	// Present is the state that determines which resources have objects; nil for the state itself.
	Present *State
	// Configured returns the dependencies of a resource in the configuration. It may be nil.
	Configured func(addrs.ConfigResource) []addrs.ConfigResource
	// UpToDate reports whether a current object matches its configuration, so that its dependencies
	// are complete. If it is nil, no object does.
	UpToDate func(addrs.AbsInstance, *Object) bool
}

// RepairDependencies keeps the order of destruction complete. Objects store their nearest
// dependencies only, so the order between two objects may rest on a third one between them. If the
// third one is gone or no longer has its dependencies, the objects that depended on it take them
// over.
func (s *State) RepairDependencies(in DependencyRepair) {
	if len(s.resources) == 0 {
		return
	}
	if in.Present == nil {
		in.Present = s
	}
	d := &dependencyRepair{
		DependencyRepair: in,
		present:          make(map[addrs.ConfigResource]bool, len(in.Present.resources)),
		configuredMemo:   map[addrs.ConfigResource][]addrs.ConfigResource{},
		lists:            map[listKey][]addrs.ConfigResource{},
	}
	for r := range in.Present.Resources() {
		if len(r.Instances) > 0 {
			d.present[r.Addr.Config()] = true
		}
	}
	if !d.keepsAll(s) {
		d.compare(s)
	}
	s.changeDependencies(func(addr addrs.AbsInstance, current bool, o *Object) []addrs.ConfigResource {
		return d.complete(addr.Config(), o.Dependencies, current && d.upToDate(addr, o))
	})
}

// keepsAll reports whether all objects of Before still exist at their addresses and have the same
// dependencies. In this common case there is nothing to repair.
func (d *dependencyRepair) keepsAll(s *State) bool {
	if len(d.Moved) > 0 {
		return false
	}
	for r := range d.Before.Resources() {
		if len(r.Instances) > 0 && !d.present[r.Addr.Config()] {
			return false
		}
		if s != d.Before && !r.keptBy(s.Resource(r.Addr)) {
			return false
		}
	}
	return true
}

// keptBy reports whether now has all instances of r and their objects have the same dependencies.
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

// dependsLike reports whether o has the same dependencies as other. It is true if other is nil.
func (o *Object) dependsLike(other *Object) bool {
	return other == nil || o != nil && SameDependencies(o.Dependencies, other.Dependencies)
}

// dependenciesOf returns the dependencies of each resource in the state: the union of those of its
// objects.
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

// A dependencyRepair is a repair in progress.
type dependencyRepair struct {
	DependencyRepair
	present map[addrs.ConfigResource]bool // resources that have objects
	// keeps holds the resources whose objects take over lost dependencies: those that depend on
	// such a resource need not.
	keeps map[addrs.ConfigResource]bool
	// old holds the former dependencies of each resource, lost those that its objects no longer
	// have.
	old, lost map[addrs.ConfigResource][]addrs.ConfigResource

	configuredMemo, lostMemo map[addrs.ConfigResource][]addrs.ConfigResource

	lists map[listKey][]addrs.ConfigResource // completed lists; most instances share theirs
}

type listKey struct {
	first    *addrs.ConfigResource
	len      int
	upToDate bool
}

// upToDate reports whether an object takes over no lost dependencies.
func (d *dependencyRepair) upToDate(addr addrs.AbsInstance, o *Object) bool {
	return len(d.lost) == 0 || d.UpToDate != nil && d.UpToDate(addr, o)
}

// compare determines which resources lost dependencies, and which take over those of others.
func (d *dependencyRepair) compare(s *State) {
	d.old, d.lost = dependenciesOf(d.Before), map[addrs.ConfigResource][]addrs.ConfigResource{}
	for to, from := range d.Moved {
		if inst := d.Before.Instance(to); inst != nil {
			for o := range inst.Objects() {
				d.old[from.Config()] = UnionDependencies(d.old[from.Config()], o.Dependencies)
			}
		}
	}
	now := dependenciesOf(s)
	for addr, old := range d.old {
		switch list := now[addr]; {
		case !d.present[addr]:
			d.lost[addr] = old
		case !SameDependencies(old, list):
			has := make(map[addrs.ConfigResource]bool, len(list))
			for _, dep := range list {
				has[dep] = true
			}
			if gone := slices.DeleteFunc(slices.Clone(old),
				func(dep addrs.ConfigResource) bool { return has[dep] }); len(gone) > 0 {
				d.lost[addr] = gone
			}
		}
	}
	if len(d.lost) == 0 {
		return
	}
	d.keeps, d.lostMemo = map[addrs.ConfigResource]bool{}, map[addrs.ConfigResource][]addrs.ConfigResource{}
	for r := range s.Resources() {
		for key, inst := range r.Instances {
			if len(inst.Deposed) > 0 || inst.Current != nil && !d.upToDate(r.Addr.Instance(key), inst.Current) {
				d.keeps[r.Addr.Config()] = true
			}
		}
	}
}

// complete returns the dependencies of an object including those that it takes over.
func (d *dependencyRepair) complete(
	addr addrs.ConfigResource, list []addrs.ConfigResource, upToDate bool,
) []addrs.ConfigResource {
	if len(list) == 0 {
		return list
	}
	key := listKey{&list[0], len(list), upToDate}
	out, ok := d.lists[key]
	if !ok {
		var inherited []addrs.ConfigResource
		for _, dep := range list {
			if !d.present[dep] {
				inherited = append(inherited, d.configured(dep)...)
			}
			if !upToDate {
				inherited = append(inherited, d.lostBehind(dep)...)
			}
		}
		out = UnionDependencies(list, sortedDependencies(inherited))
		d.lists[key] = out
	}
	if at := slices.Index(out, addr); at >= 0 && len(out) > len(list) {
		return slices.Delete(slices.Clone(out), at, at+1)
	}
	return out
}

// configured returns the dependencies in the configuration of a resource that has no objects. It
// descends to the nearest resources that have objects and includes those without objects on the
// way, as nothing else in the state records them.
func (d *dependencyRepair) configured(addr addrs.ConfigResource) []addrs.ConfigResource {
	out, ok := d.configuredMemo[addr]
	if ok || d.Configured == nil {
		return out
	}
	seen := map[addrs.ConfigResource]bool{addr: true}
	for todo := []addrs.ConfigResource{addr}; len(todo) > 0; {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, dep := range d.Configured(next) {
			if seen[dep] {
				continue
			}
			seen[dep] = true
			out = append(out, dep)
			if !d.present[dep] {
				todo = append(todo, dep)
			}
		}
	}
	out = sortedDependencies(out)
	d.configuredMemo[addr] = out
	return out
}

// lostBehind returns the dependencies that an object of the resource, or of its former
// dependencies, no longer has.
func (d *dependencyRepair) lostBehind(addr addrs.ConfigResource) []addrs.ConfigResource {
	if len(d.lost) == 0 || d.present[addr] && d.keeps[addr] {
		return nil
	}
	out, ok := d.lostMemo[addr]
	if ok {
		return out
	}
	d.lostMemo[addr] = nil // stored dependencies may have cycles
	for _, dep := range d.lost[addr] {
		if d.present[dep] {
			out = append(out, dep)
		}
	}
	for _, dep := range d.old[addr] {
		out = append(out, d.lostBehind(dep)...)
	}
	out = sortedDependencies(out)
	d.lostMemo[addr] = out
	return out
}
