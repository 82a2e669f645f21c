package states

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// DependencyRepair describes the changes of a state after which RepairDependencies completes its
// dependencies.
type DependencyRepair struct {
	// Before is the state before the changes.
	Before *State
	// Moved holds the former address of each instance that has another address in Before.
	// Dependencies still contain the former ones.
	Moved map[addrs.AbsInstance]addrs.AbsInstance
	// Present is the state that determines which resources have objects; nil for the state itself.
	Present *State
	// Configured returns the dependencies of a resource in the configuration. It may be nil.
	Configured func(addrs.ConfigResource) *Dependencies
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
		configuredMemo:   map[addrs.ConfigResource]*Dependencies{},
		completed:        map[completion]*Dependencies{},
	}
	for r := range in.Present.Resources() {
		if len(r.Instances) > 0 {
			d.present[r.Addr.Config()] = true
		}
	}
	if !d.keepsAll(s) {
		d.compare(s)
	}
	s.changeDependencies(func(addr addrs.AbsInstance, current bool, o *Object) *Dependencies {
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
	return other == nil || o != nil && o.Dependencies.Equal(other.Dependencies)
}

// dependenciesOf returns the dependencies of each resource in the state: the union of those of its
// objects.
func dependenciesOf(s *State) map[addrs.ConfigResource]*Dependencies {
	out := map[addrs.ConfigResource]*Dependencies{}
	for r := range s.Resources() {
		addr := r.Addr.Config()
		for _, inst := range r.Instances {
			for o := range inst.Objects() {
				out[addr] = out[addr].Union(o.Dependencies)
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
	old, lost map[addrs.ConfigResource]*Dependencies

	configuredMemo, lostMemo map[addrs.ConfigResource]*Dependencies
	completed                map[completion]*Dependencies
}

// completion identifies a set that was completed for objects that are or are not up to date.
type completion struct {
	set      *Dependencies
	upToDate bool
}

// upToDate reports whether an object takes over no lost dependencies.
func (d *dependencyRepair) upToDate(addr addrs.AbsInstance, o *Object) bool {
	return len(d.lost) == 0 || d.UpToDate != nil && d.UpToDate(addr, o)
}

// compare determines which resources lost dependencies, and which take over those of others.
func (d *dependencyRepair) compare(s *State) {
	d.old, d.lost = dependenciesOf(d.Before), map[addrs.ConfigResource]*Dependencies{}
	for to, from := range d.Moved {
		if inst := d.Before.Instance(to); inst != nil {
			for o := range inst.Objects() {
				d.old[from.Config()] = d.old[from.Config()].Union(o.Dependencies)
			}
		}
	}
	now := dependenciesOf(s)
	for addr, old := range d.old {
		if !d.present[addr] {
			d.lost[addr] = old
		} else if gone := old.without(now[addr]); gone != nil {
			d.lost[addr] = gone
		}
	}
	if len(d.lost) == 0 {
		return
	}
	d.keeps, d.lostMemo = map[addrs.ConfigResource]bool{}, map[addrs.ConfigResource]*Dependencies{}
	for r := range s.Resources() {
		for key, inst := range r.Instances {
			if len(inst.Deposed) > 0 || inst.Current != nil && !d.upToDate(r.Addr.Instance(key), inst.Current) {
				d.keeps[r.Addr.Config()] = true
			}
		}
	}
}

// without returns the elements of d that other does not have.
func (d *Dependencies) without(other *Dependencies) *Dependencies {
	if d.Equal(other) {
		return nil
	}
	return NewDependencies(slices.DeleteFunc(slices.Clone(d.sorted()), other.Has))
}

// complete returns the dependencies of an object including those that it takes over.
func (d *dependencyRepair) complete(addr addrs.ConfigResource, deps *Dependencies, upToDate bool) *Dependencies {
	if deps == nil {
		return nil
	}
	key := completion{deps, upToDate}
	out, ok := d.completed[key]
	if !ok {
		var inherited []addrs.ConfigResource
		for dep := range deps.All() {
			if !d.present[dep] {
				inherited = append(inherited, d.configured(dep).sorted()...)
			}
			if !upToDate {
				inherited = append(inherited, d.lostBehind(dep).sorted()...)
			}
		}
		out = deps.Union(NewDependencies(inherited))
		d.completed[key] = out
	}
	if out != deps && out.Has(addr) {
		return out.without(NewDependencies([]addrs.ConfigResource{addr}))
	}
	return out
}

// configured returns the dependencies in the configuration of a resource that has no objects. It
// descends to the nearest resources that have objects and includes those without objects on the
// way, as nothing else in the state records them.
func (d *dependencyRepair) configured(addr addrs.ConfigResource) *Dependencies {
	out, ok := d.configuredMemo[addr]
	if ok || d.Configured == nil {
		return out
	}
	needs := func(at addrs.ConfigResource) []addrs.ConfigResource {
		if at != addr && d.present[at] {
			return nil
		}
		return d.Configured(at).sorted()
	}
	all := slices.Collect(dag.Reachable([]addrs.ConfigResource{addr}, needs))
	out = NewDependencies(all[1:])
	d.configuredMemo[addr] = out
	return out
}

// lostBehind returns the dependencies that an object of the resource, or of its former
// dependencies, no longer has.
func (d *dependencyRepair) lostBehind(addr addrs.ConfigResource) *Dependencies {
	if len(d.lost) == 0 || d.present[addr] && d.keeps[addr] {
		return nil
	}
	if out, ok := d.lostMemo[addr]; ok {
		return out
	}
	d.lostMemo[addr] = nil // stored dependencies may have cycles
	var list []addrs.ConfigResource
	for dep := range d.lost[addr].All() {
		if d.present[dep] {
			list = append(list, dep)
		}
	}
	for dep := range d.old[addr].All() {
		list = append(list, d.lostBehind(dep).sorted()...)
	}
	out := NewDependencies(list)
	d.lostMemo[addr] = out
	return out
}
