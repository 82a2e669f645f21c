package graph

import (
	"iter"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/states"
)

// depGraph is the graph of the dependencies between the resources of each module instance, as they
// are stored with their objects.
type depGraph struct {
	b   *build
	all []*depNode
	at  map[addrs.AbsResource]*depNode
	// byResource lists the nodes of a resource that have objects: stored dependencies cannot name
	// new resources. hubs joins them for dependents in other modules.
	byResource map[addrs.ConfigResource][]*depNode
	hubs       map[addrs.ConfigResource]*depNode
	// setHubs holds the hubs of large sets of dependencies.
	setHubs map[dependenciesIn]*depNode
}

// depNode is a resource in one module instance. A hub is a depNode without Steps that stands for
// several others: a resource in all of its module instances, or a set of dependencies.
type depNode struct {
	index    int
	name     string
	addr     addrs.AbsResource // zero for a hub of module instances
	resource *Resource
	hub      bool
	set      bool // hub of a set of dependencies
	exists   bool // has objects
	steps    []*Step
	needs    []*depNode
	users    []*depNode
	newUsers []*newUsers       // resources whose configuration adds a dependency on this one
	guessed  map[*depNode]bool // needs taken from the configuration, because an object has none stored
	guesses  bool              // all needs are guessed
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
		hubs: map[addrs.ConfigResource]*depNode{}, setHubs: map[dependenciesIn]*depNode{}}
	for _, r := range b.g.Resources {
		if r.nested() {
			continue // it is read after all changes, deletions included
		}
		for _, prior := range r.Prior {
			x := d.ensure(prior.Addr, r)
			d.byResource[r.Addr] = append(d.byResource[r.Addr], x)
			x.exists = true
		}
		for _, s := range b.steps[r] {
			x := d.ensure(s.Change.Addr.Abs(), r)
			x.steps = append(x.steps, s)
		}
	}
	d.addMissing()
	for _, x := range slices.Clone(d.all) {
		stored, guess := d.storedDeps(x)
		d.connectNeeds(x, stored, guess)
	}
	d.breakCycles()
	for _, x := range d.all {
		for _, q := range x.needs {
			q.users = append(q.users, x)
		}
	}
	return d
}

// addMissing adds the objects that were found deleted while refreshing. They connect the objects
// that depended on them with those that they depended on.
func (d *depGraph) addMissing() {
	for prior := range d.b.op.Plan.PrevRun.Resources() {
		r := d.b.g.Resource(prior.Addr.Config())
		if r == nil || r.nested() || len(prior.Instances) == 0 {
			continue
		}
		if x := d.ensure(prior.Addr, r); !x.exists {
			x.exists = true
			d.byResource[r.Addr] = append(d.byResource[r.Addr], x)
		}
	}
}

// ensure returns the node of a resource in a module instance, and adds it if there is none.
func (d *depGraph) ensure(addr addrs.AbsResource, r *Resource) *depNode {
	x := d.at[addr]
	if x == nil {
		x = d.add(&depNode{addr: addr, resource: r, name: addr.String()})
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
	if len(sets) == 1 && sets[0].Len() >= largeSet && !sets[0].Has(x.resource.Addr) {
		x.needs = []*depNode{d.hub(x, sets[0])}
		return
	}
	seen := map[addrs.ConfigResource]bool{x.resource.Addr: true}
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
				if x.guessed == nil {
					x.guessed = map[*depNode]bool{}
				}
				x.guessed[q] = true
			}
		}
	}
}

// largeSet is the size from which a set of dependencies has a hub, so that n resources that all
// depend on the same m cost n+m edges, not n·m.
const largeSet = 8

// dependenciesIn is a set of dependencies of resources in one module instance. Dependencies in the
// same module are those in the same instance of it.
type dependenciesIn struct {
	set    *states.Dependencies
	module addrs.ModuleInstance
}

// hub returns the hub of a set of dependencies.
func (d *depGraph) hub(x *depNode, set *states.Dependencies) *depNode {
	key := dependenciesIn{set, x.addr.Module}
	h := d.setHubs[key]
	if h == nil {
		h = d.add(&depNode{addr: x.addr, resource: x.resource, name: x.name + " (dependencies)", hub: true, set: true})
		for dep := range set.All() {
			if q := d.dependency(h, dep); q != nil {
				h.needs = append(h.needs, q)
			}
		}
		d.setHubs[key] = h
	}
	return h
}

// storedDeps returns the sets of dependencies of a resource's objects as they were stored before
// planning. Planning replaces them by those of the current configuration, from which the existing
// objects may not have been created. A new resource has the dependencies of its configuration.
//
// guess holds the dependencies of the configuration if some object has none stored although it may
// have some: imported objects and data sources have none stored, and when everything is destroyed,
// the state may be from a program that stored none.
func (d *depGraph) storedDeps(x *depNode) (stored []*states.Dependencies, guess *states.Dependencies) {
	managed := x.addr.Resource.Mode == addrs.Managed
	prior := d.b.op.Plan.PrevRun.Resource(x.addr)
	switch {
	case prior == nil && managed:
		return []*states.Dependencies{x.resource.Recorded.Dependencies}, nil
	case prior == nil:
		return nil, x.resource.Recorded.Dependencies
	}
	seen := map[*states.Dependencies]bool{nil: true} // instances mostly share one set
	for _, s := range x.steps {
		if s.Change.Importing != nil {
			guess = x.resource.Recorded.Dependencies
		}
	}
	for _, inst := range prior.Instances {
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

// dependency returns the node that a stored dependency of x stands for: the resource in the same
// module instance if dep is in the module of x, otherwise the hub of all its module instances. It
// returns nil if the resource has no objects.
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
		h = d.add(&depNode{resource: of[0].resource, name: dep.String() + " (all)", hub: true, needs: of})
		d.hubs[dep] = h
	}
	return h
}

// breakCycles drops dependencies until there are no cycles. Stored dependencies can form cycles
// because they were stored at different times: an object that was deposed long ago may depend on a
// resource that now depends on its successor. On and between cycles, the guessed dependencies are
// dropped first; if there are still cycles, only dependencies that the configuration has remain.
func (d *depGraph) breakCycles() {
	d.cutCycles(func(x, q *depNode) bool { return !x.guesses && !x.guessed[q] })
	d.cutCycles(func(x, q *depNode) bool { return x.resource.Config != nil && x.resource.refersTo(q.resource.Addr) })
}

// cutCycles removes the dependencies on and between cycles, except those for which keep returns
// true.
func (d *depGraph) cutCycles(keep func(x, q *depNode) bool) {
	graph := d.graph()
	if _, ok := graph.Order(); ok {
		return
	}
	cyclic := graph.Cyclic()
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

// eachNeed returns the nodes that x depends on, with the hubs of sets replaced by their elements.
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

// graph returns the nodes, by index, and their needs.
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

// refersTo reports whether the configuration of r depends on a resource, directly or through
// values.
func (r *Resource) refersTo(addr addrs.ConfigResource) bool {
	return r.Recorded.Dependencies.Has(addr)
}
