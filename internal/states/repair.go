package states

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// DependencyRepair describes changes to a state. RepairDependencies uses it to complete the
// dependencies after these changes.
type DependencyRepair struct {
	// Before is the state before the changes.
	Before *State
	// Moved holds the former address of each instance that has another address in Before.
	// Dependencies still contain the former addresses.
	Moved map[addrs.AbsInstance]addrs.AbsInstance
	// Present is the state that determines which resources have objects. If it is nil, the repaired
	// state itself is used.
	Present *State
	// Configured returns the dependencies of a resource in the configuration. It may be nil.
	Configured func(addrs.ConfigResource) *Dependencies
	// UpToDate reports whether a current object matches its configuration, which means that its
	// dependencies are complete. If it is nil, no object is up to date.
	UpToDate func(addrs.AbsInstance, *Object) bool
}

// RepairDependencies keeps the recorded order of destruction complete. Objects store only their
// nearest dependencies, so the order of two objects may depend on a third object between them. If
// the third object no longer exists or no longer has its dependencies, the objects that depended on
// it take over these dependencies.
func (s *State) RepairDependencies(in DependencyRepair) {
	if len(s.resources) == 0 {
		return
	}
	if in.Present == nil {
		in.Present = s
	}
	d := &dependencyRepair{
		DependencyRepair: in,
		configuredMemo:   map[addrs.ConfigResource]*Dependencies{},
		completed:        map[completion]*Dependencies{},
	}
	if !d.keepsAll(s) {
		d.compare(s)
	}
	if len(d.lost) == 0 && d.Configured == nil {
		return
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
		if len(r.Instances) > 0 && !d.Present.Resource(r.Addr).exists() {
			return false
		}
		if s != d.Before && !r.keptBy(s.Resource(r.Addr)) {
			return false
		}
	}
	return true
}

// exists reports whether r, which may be nil, has instances.
func (r *Resource) exists() bool { return r != nil && len(r.Instances) > 0 }

// present reports whether a resource has objects, in any module instance.
func (d *dependencyRepair) present(addr addrs.ConfigResource) bool {
	if addr.Module.IsRoot() {
		return d.Present.Resource(addr.Resource.InInstance(addrs.RootInstance)).exists()
	}
	if d.inModules == nil {
		d.inModules = map[addrs.ConfigResource]bool{}
		for r := range d.Present.Resources() {
			if r.exists() && !r.Addr.Module.IsRoot() {
				d.inModules[r.Addr.Config()] = true
			}
		}
	}
	return d.inModules[addr]
}

// keptBy compares r with the resource that has the same address after the changes, which may be
// nil. It reports whether that resource has all instances of r, and their objects have the same
// dependencies.
func (r *Resource) keptBy(now *Resource) bool {
	if now == r {
		return true
	}
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

// dependsLike reports whether o has the same dependencies as other. It returns true if other is
// nil.
func (o *Object) dependsLike(other *Object) bool {
	return other == nil || o != nil && o.Dependencies.Equal(other.Dependencies)
}

// dependenciesOf returns the dependencies of each resource in the state, which are the union of the
// dependencies of its objects.
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
	inModules map[addrs.ConfigResource]bool // resources outside the root module that have objects; see present
	// keeps holds the resources whose own objects take over lost dependencies. Objects that depend
	// on such a resource need not take them over.
	keeps map[addrs.ConfigResource]bool
	// old holds the former dependencies of each resource. lost holds the dependencies that its
	// objects no longer have.
	old, lost map[addrs.ConfigResource]*Dependencies

	configuredMemo, lostMemo map[addrs.ConfigResource]*Dependencies
	completed                map[completion]*Dependencies
}

// completion is the key of a completed set: the original set, and whether its objects are up to
// date.
type completion struct {
	set      *Dependencies
	upToDate bool
}

// upToDate reports whether an object need not take over lost dependencies.
func (d *dependencyRepair) upToDate(addr addrs.AbsInstance, o *Object) bool {
	return len(d.lost) == 0 || d.UpToDate != nil && d.UpToDate(addr, o)
}

// compare determines which resources lost dependencies, and which resources take over the lost
// dependencies of others.
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
		if !d.present(addr) {
			d.lost[addr] = old
		} else if gone := old.Without(now[addr]); gone != nil {
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

// Without returns the elements of d that other does not have.
func (d *Dependencies) Without(other *Dependencies) *Dependencies {
	if d.Equal(other) {
		return nil
	}
	return NewDependencies(slices.DeleteFunc(slices.Clone(d.sorted()), other.Has))
}

// complete returns the dependencies of an object, including the dependencies that it takes over.
func (d *dependencyRepair) complete(addr addrs.ConfigResource, deps *Dependencies, upToDate bool) *Dependencies {
	if deps == nil {
		return nil
	}
	key := completion{deps, upToDate}
	out, ok := d.completed[key]
	if !ok {
		var inherited []addrs.ConfigResource
		for dep := range deps.All() {
			if !d.present(dep) {
				inherited = append(inherited, d.configured(dep).sorted()...)
			}
			if !upToDate {
				inherited = append(inherited, d.lostBehind(dep).sorted()...)
			}
		}
		out = deps.Union(NewDependencies(inherited))
		d.completed[key] = out
	}
	if out != deps {
		return out.WithoutOwn(addr)
	}
	return out
}

// configured returns the configured dependencies of a resource that has no objects. It follows them
// to the nearest resources that have objects. It also includes the resources without objects on the
// way, because nothing else in the state records them.
func (d *dependencyRepair) configured(addr addrs.ConfigResource) *Dependencies {
	out, ok := d.configuredMemo[addr]
	if ok || d.Configured == nil {
		return out
	}
	needs := func(at addrs.ConfigResource) []addrs.ConfigResource {
		if at != addr && d.present(at) {
			return nil
		}
		return d.Configured(at).sorted()
	}
	all := slices.Collect(dag.Reachable([]addrs.ConfigResource{addr}, needs))
	out = NewDependencies(all[1:])
	d.configuredMemo[addr] = out
	return out
}

// lostBehind returns the lost dependencies that objects must take over if they depend on the
// resource. These are the dependencies that the resource's objects no longer have, and those that
// its former dependencies have lost.
func (d *dependencyRepair) lostBehind(addr addrs.ConfigResource) *Dependencies {
	if len(d.lost) == 0 || d.present(addr) && d.keeps[addr] {
		return nil
	}
	if out, ok := d.lostMemo[addr]; ok {
		return out
	}
	d.lostMemo[addr] = nil // ends the recursion if stored dependencies form a cycle
	var list []addrs.ConfigResource
	for dep := range d.lost[addr].All() {
		if d.present(dep) {
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
