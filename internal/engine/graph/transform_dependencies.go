package graph

import (
	"iter"
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/states"
)

// depGraph is the graph of the dependencies that are stored with the objects of each resource, by
// module instance.
type depGraph struct {
	b   *build
	all []*depNode
	at  map[addrs.AbsResource]*depNode
	// byResource lists the nodes of a resource that have objects. New resources are left out,
	// because stored dependencies cannot name them. hubs holds a node for each resource that joins
	// these nodes for dependents in other modules.
	byResource map[addrs.ConfigResource][]*depNode
	hubs       map[addrs.ConfigResource]*depNode
	// setHubs holds the hubs of large sets of dependencies.
	setHubs map[dependenciesIn]*depNode
	// split holds the resources whose instances have nodes of their own, because the state stores
	// dependencies of these resources, or on them, by instance. instances holds these nodes.
	split     map[addrs.AbsResource]bool
	instances map[addrs.AbsInstance]*depNode
	lost      map[addrs.AbsInstance][]addrs.AbsInstance // see findLost
}

// depNode is a resource in one module instance, or one instance of it. A hub is a depNode without
// Steps that represents several others: the instances of a resource, a resource in all of its
// module instances, or a set of dependencies.
type depNode struct {
	index    int
	suffix   string            // end of the name
	addr     addrs.AbsResource // zero for a hub of module instances
	instance bool              // whether the node is one instance of the resource
	key      addrs.InstanceKey // the key of the instance, if instance is set
	resource *reads.Resource
	hub      bool
	set      bool // whether the node is the hub of a set of dependencies
	exists   bool // whether the state has objects of the node
	steps    []*reads.Step
	needs    []*depNode
	users    []*depNode
	newUsers []*newUsers       // resources whose configuration adds a dependency on this resource
	guessed  map[*depNode]bool // needs taken from the configuration, because some object has no stored dependencies
	guesses  bool              // all needs are guessed, other than needs of single instances
}

// name returns the name of x, which is part of the names of its Barriers.
func (x *depNode) name() string {
	if x.addr == (addrs.AbsResource{}) {
		return x.resource.Addr.String() + x.suffix
	}
	return x.addr.Instance(x.key).String() + x.suffix
}

// allUsers returns the resources that depend on x, directly or through hubs.
func (x *depNode) allUsers() iter.Seq[*depNode] {
	return func(yield func(*depNode) bool) {
		for _, user := range x.users {
			if !user.hub {
				if !yield(user) {
					return
				}
				continue
			}
			for u := range user.allUsers() {
				if !yield(u) {
					return
				}
			}
		}
	}
}

func newDepGraph(b *build) depGraph {
	d := depGraph{b: b, at: map[addrs.AbsResource]*depNode{}, byResource: map[addrs.ConfigResource][]*depNode{},
		hubs: map[addrs.ConfigResource]*depNode{}, setHubs: map[dependenciesIn]*depNode{},
		split: map[addrs.AbsResource]bool{}, lost: map[addrs.AbsInstance][]addrs.AbsInstance{}}
	d.findSplit()
	for _, r := range b.g.Resources {
		if r.Nested() || r.Addr.Resource.Mode == addrs.Ephemeral {
			continue // checks come after all deletions, and the state has no ephemeral objects
		}
		for _, prior := range r.Prior {
			x := d.ensure(prior.Addr, r)
			d.byResource[r.Addr] = append(d.byResource[r.Addr], x)
			x.exists = true
		}
		for _, s := range b.steps[r] {
			x := d.ensureInstance(s.Change.Addr, r)
			x.steps = append(x.steps, s)
		}
		for _, prior := range r.Prior {
			d.ensureInstances(prior, r)
		}
	}
	d.addMissing()
	for _, x := range slices.Clone(d.all) {
		if x.hub || x.passesOn() {
			continue
		}
		stored, guess := d.storedDeps(x)
		d.connectNeeds(x, stored, guess)
		d.connectLost(x)
	}
	d.breakCycles()
	used := make([]bool, len(d.all))
	for _, x := range d.all {
		for _, q := range x.needs {
			used[q.index] = true
		}
	}
	for _, x := range d.all {
		if x.hub && !used[x.index] {
			continue // the hub of the instances of a resource on which nothing depends as a whole
		}
		for _, q := range x.needs {
			q.users = append(q.users, x)
		}
	}
	return d
}

// passesOn reports whether x is a data source that isn't read in this run. The order doesn't need
// the dependencies of x: objects that depend on x store them too, by instance. An order through x
// would be by resource.
func (x *depNode) passesOn() bool { return x.addr.Resource.Mode == addrs.Data && !x.writes() }

// addMissing adds the objects that refreshing found deleted. They connect the objects that depended
// on them with the objects that they depended on.
func (d *depGraph) addMissing() {
	for prior := range d.b.op.Plan.PrevRun.Resources() {
		r := d.b.g.Resource(prior.Addr.Config())
		if r == nil || r.Nested() || len(prior.Instances) == 0 {
			continue
		}
		if x := d.ensure(prior.Addr, r); !x.exists {
			x.exists = true
			d.byResource[r.Addr] = append(d.byResource[r.Addr], x)
		}
		d.ensureInstances(prior, r)
	}
}

// findSplit finds the resources whose instances have their own nodes: resources with an object that
// depends on single instances, and resources with an instance that an object depends on.
func (d *depGraph) findSplit() {
	for prior := range d.b.op.Plan.PrevRun.Resources() {
		for _, inst := range prior.Instances {
			for o := range inst.Objects() {
				for _, dep := range o.DependencyInstances {
					d.split[prior.Addr], d.split[dep.Abs()] = true, true
				}
			}
		}
	}
	d.findLost()
	n := 0
	for addr := range d.split {
		if prior := d.b.op.Plan.PrevRun.Resource(addr); prior != nil {
			n += len(prior.Instances)
		}
	}
	d.instances = make(map[addrs.AbsInstance]*depNode, n)
}

// ensureInstances adds a node for each instance in the state, if the resource is split. The hub of
// the resource joins these nodes. It doesn't join the nodes of new instances, because no stored
// dependency can refer to them.
func (d *depGraph) ensureInstances(prior *states.Resource, r *reads.Resource) {
	if !d.split[prior.Addr] {
		return
	}
	whole := d.ensure(prior.Addr, r)
	for _, key := range slices.SortedFunc(maps.Keys(prior.Instances), addrs.InstanceKey.Compare) {
		if x := d.ensureInstance(prior.Addr.Instance(key), r); !x.exists {
			x.exists = true
			whole.needs = append(whole.needs, x)
		}
	}
}

// ensureInstance returns the node of an instance, and adds it if it doesn't exist. Unless the
// resource is split, this is the node of the resource.
func (d *depGraph) ensureInstance(addr addrs.AbsInstance, r *reads.Resource) *depNode {
	whole := d.ensure(addr.Abs(), r)
	if !d.split[addr.Abs()] {
		return whole
	}
	x := d.instances[addr]
	if x == nil {
		x = d.add(&depNode{addr: addr.Abs(), instance: true, key: addr.Key, resource: r})
		d.instances[addr] = x
	}
	return x
}

// ensure returns the node of a resource in a module instance, and adds it if it doesn't exist.
func (d *depGraph) ensure(addr addrs.AbsResource, r *reads.Resource) *depNode {
	x := d.at[addr]
	if x == nil {
		x = d.add(&depNode{addr: addr, resource: r, hub: d.split[addr]})
		d.at[addr] = x
	}
	return x
}

func (d *depGraph) add(x *depNode) *depNode {
	x.index = len(d.all)
	d.all = append(d.all, x)
	return x
}

// connectNeeds sets the needs of x to its stored dependencies and the guessed ones; see storedDeps.
func (d *depGraph) connectNeeds(x *depNode, stored []*states.Dependencies, guess *states.Dependencies) {
	x.guesses = len(stored) == 0
	sets := stored
	if guess != nil {
		sets = append(sets, guess)
	}
	seen := map[addrs.ConfigResource]bool{x.resource.Addr: true}
	d.connectInstances(x, seen)
	if len(sets) == 1 && sets[0].Len() >= largeSet && !sets[0].Has(x.resource.Addr) {
		x.needs = append(x.needs, d.hub(x, sets[0], seen))
		return
	}
	for i, set := range sets {
		for dep := range set.All() {
			if seen[dep] {
				continue
			}
			seen[dep] = true
			q := d.dependency(x, dep)
			if q == nil {
				continue
			}
			x.needs = append(x.needs, q)
			if i >= len(stored) && !x.guesses {
				x.guess(q)
			}
		}
	}
}

// connectInstances sets the needs of x to the instances that its objects depend on, and adds their
// resources to seen.
func (d *depGraph) connectInstances(x *depNode, seen map[addrs.ConfigResource]bool) {
	if !x.instance {
		return
	}
	prior := d.b.op.Plan.PrevRun.Resource(x.addr)
	if prior == nil || prior.Instances[x.key] == nil {
		return
	}
	known := map[*depNode]bool{}
	for o := range prior.Instances[x.key].Objects() {
		for _, dep := range o.DependencyInstances {
			q := d.instances[dep]
			if q == nil && dep.Key == addrs.NoKey {
				seen[dep.Config()] = true // the object depends on no instance
			}
			if q == nil || !q.exists || q == x || known[q] {
				continue
			}
			known[q] = true
			x.needs = append(x.needs, q)
			seen[dep.Config()] = true
		}
	}
}

// findLost handles objects whose stored dependencies name no instances, because another program has
// written the state. It finds their dependencies on instances of the same block and on objects in
// other instances of the same module. Dependencies by resource can't order these objects, so
// findLost takes the instances from the refreshed state and the planned changes, which follow the
// current configuration.
func (d *depGraph) findLost() {
	plan := d.b.op.Plan
	lost := func(addr addrs.AbsInstance) bool {
		obj := plan.PrevRun.Current(addr)
		return obj != nil && len(obj.DependencyInstances) == 0
	}
	add := func(addr, dep addrs.AbsInstance) {
		d.lost[addr] = append(d.lost[addr], dep)
		d.split[addr.Abs()], d.split[dep.Abs()] = true, true
	}
	for now := range plan.Prior.Resources() {
		for key, inst := range now.Instances {
			addr := now.Addr.Instance(key)
			if inst.Current == nil || len(inst.Current.DependencyInstances) == 0 || !lost(addr) {
				continue
			}
			for _, dep := range inst.Current.DependencyInstances {
				if InOwnCall(dep, addr) {
					add(addr, dep)
				}
			}
		}
	}
	for _, steps := range d.b.steps {
		for _, s := range steps {
			addr := s.Change.Addr
			for _, read := range s.Change.Reads {
				if read.Resource == addr.Resource && read.Key != addrs.NoKey && lost(addr) {
					add(addr, addr.Abs().Instance(read.Key))
				}
			}
		}
	}
}

// InOwnCall reports whether the instance dep is in the block of addr, or in another instance of the
// module that addr is in. Dependencies by resource leave out dependencies of addr on such instances.
func InOwnCall(dep, addr addrs.AbsInstance) bool {
	if dep.Module == addr.Module {
		return dep.Resource == addr.Resource
	}
	return dep.Module.Module() == addr.Module.Module()
}

// connectLost adds the dependencies that the state has lost to the needs of x.
func (d *depGraph) connectLost(x *depNode) {
	if !x.instance {
		return
	}
	for _, dep := range d.lost[x.addr.Instance(x.key)] {
		if q := d.instances[dep]; q != nil && q.exists && q != x && !x.guessed[q] {
			x.needs = append(x.needs, q)
			x.guess(q)
		}
	}
}

// guess marks the dependency of x on q as guessed. If it is on a cycle, it is dropped first.
func (x *depNode) guess(q *depNode) {
	if x.guessed == nil {
		x.guessed = map[*depNode]bool{}
	}
	x.guessed[q] = true
}

// largeSet is the minimum size of a set of dependencies that gets a hub. With hubs, n resources
// that all depend on the same m resources cost n+m edges, not n·m.
const largeSet = 8

// dependenciesIn is a set of dependencies of resources in one module instance. A dependency in the
// same module means the resource in the same instance of that module.
type dependenciesIn struct {
	set    *states.Dependencies
	module addrs.ModuleInstance
	except string // the dependencies in the set that the hub leaves out
}

// hub returns the hub of a set of dependencies of x, without those in except.
func (d *depGraph) hub(x *depNode, set *states.Dependencies, except map[addrs.ConfigResource]bool) *depNode {
	key := dependenciesIn{set: set, module: x.addr.Module}
	for dep := range set.All() {
		if except[dep] {
			key.except += dep.String() + "\n"
		}
	}
	h := d.setHubs[key]
	if h == nil {
		h = d.add(&depNode{addr: x.addr, resource: x.resource, suffix: x.suffix + " (dependencies)",
			hub: true, set: true, key: x.key})
		for dep := range set.All() {
			if except[dep] {
				continue
			}
			if q := d.dependency(h, dep); q != nil {
				h.needs = append(h.needs, q)
			}
		}
		d.setHubs[key] = h
	}
	return h
}

// storedDeps returns the sets of dependencies of a resource's objects as they were stored before
// planning. Planning replaces these sets with the dependencies of the current configuration, but
// the existing objects may have been created from another configuration. A new resource has the
// dependencies of its configuration.
//
// guess holds the dependencies of the configuration if some object has none stored although it may
// have some. Imported objects and data sources have none stored. When everything is destroyed, the
// state may come from a program that stored none.
func (d *depGraph) storedDeps(x *depNode) (stored []*states.Dependencies, guess *states.Dependencies) {
	managed := x.addr.Resource.Mode == addrs.Managed
	prior := d.b.op.Plan.PrevRun.Resource(x.addr)
	isNew := prior == nil || x.instance && prior.Instances[x.key] == nil
	imports := slices.ContainsFunc(x.steps, func(s *reads.Step) bool { return s.Change.Importing != nil })
	switch {
	case isNew && managed && !imports:
		return []*states.Dependencies{x.resource.Recorded.Dependencies}, nil
	case isNew:
		return nil, x.resource.Recorded.Dependencies
	}
	seen := map[*states.Dependencies]bool{nil: true} // instances mostly share one set
	if imports {
		guess = x.resource.Recorded.Dependencies
	}
	instances := prior.Instances
	if x.instance {
		instances = map[addrs.InstanceKey]*states.Instance{x.key: prior.Instances[x.key]}
	}
	for _, inst := range instances {
		for o := range inst.Objects() {
			switch set := o.Dependencies; {
			case set == nil && (!managed || d.b.op.Phase.Destroys()):
				guess = x.resource.Recorded.Dependencies
			case !seen[set]:
				seen[set] = true
				stored = append(stored, set)
			}
		}
	}
	return stored, guess
}

// dependency returns the node of a stored dependency of x. If dep is in the module of x, this is
// the resource in the same module instance. Otherwise it is the hub of the resource in all module
// instances, or its only node. It returns nil if the resource has no objects.
func (d *depGraph) dependency(x *depNode, dep addrs.ConfigResource) *depNode {
	if dep.Module == x.resource.Addr.Module {
		if q := d.at[dep.Resource.InInstance(x.addr.Module)]; q != nil && q.exists {
			return q
		}
		return nil
	}
	of := d.byResource[dep]
	switch len(of) {
	case 0:
		return nil
	case 1:
		return of[0]
	}
	h := d.hubs[dep]
	if h == nil {
		h = d.add(&depNode{resource: of[0].resource, suffix: " (all)", hub: true, needs: of})
		d.hubs[dep] = h
	}
	return h
}

// breakCycles drops dependencies until there are no cycles. Stored dependencies can form cycles
// because they were stored at different times. For example, an object that was deposed long ago may
// depend on a resource that now depends on the deposed object's successor. On and between cycles,
// the guessed dependencies are dropped first. If there are still cycles, only the dependencies that
// the configuration has are kept.
func (d *depGraph) breakCycles() {
	d.cutCycles(func(x, q *depNode) bool { return !x.guessed[q] && (q.instance || !x.guesses) })
	d.cutCycles(func(x, q *depNode) bool {
		return x.resource.Config != nil && x.resource.Recorded.Dependencies.Has(q.resource.Addr)
	})
}

// cutCycles removes the dependencies on and between cycles, except those for which keep returns
// true.
func (d *depGraph) cutCycles(keep func(x, q *depNode) bool) {
	acyclic := dag.Acyclic(len(d.all), func(id dag.ID, i int) (dag.ID, bool) {
		x := d.all[id]
		if i == len(x.needs) {
			return 0, false
		}
		return dag.ID(x.needs[i].index), true
	})
	if acyclic {
		return
	}
	cyclic := d.graph().Cyclic()
	for _, x := range d.all {
		if x.hub || !cyclic[x.index] {
			continue
		}
		var kept []*depNode
		for q := range x.eachNeed() {
			if !cyclic[q.index] || keep(x, q) {
				kept = append(kept, q)
			}
		}
		x.needs = kept
	}
}

// eachNeed returns the nodes that x depends on. It replaces the hubs of sets by the elements of the
// sets.
func (x *depNode) eachNeed() iter.Seq[*depNode] {
	return func(yield func(*depNode) bool) {
		for _, q := range x.needs {
			if !q.set {
				if !yield(q) {
					return
				}
				continue
			}
			for _, each := range q.needs {
				if !yield(each) {
					return
				}
			}
		}
	}
}

// graph returns a graph of the nodes, numbered by their index, with an edge for each need.
func (d *depGraph) graph() *dag.Graph {
	g := &dag.Graph{}
	for range d.all {
		g.Add()
	}
	for _, x := range d.all {
		for _, q := range x.needs {
			g.Connect(dag.ID(x.index), dag.ID(q.index))
		}
	}
	return g
}
