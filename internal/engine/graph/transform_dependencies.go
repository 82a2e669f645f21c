package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/states"
)

// relations says which resources, each of one module instance, depend on which by what is stored with their objects.
type depGraph struct {
	b   *build
	all []*depNode
	at  map[addrs.AbsResource]*depNode
	// of lists the module instances of a resource that has objects: nothing depends on what is new. hub joins them for dependents in
	// other modules.
	byResource map[addrs.ConfigResource][]*depNode
	hubs       map[addrs.ConfigResource]*depNode
	// lists are hubs of long lists of dependencies.
	listHubs map[sharedList]*depNode
}

// related is a resource of one module instance; or a hub: of all of a resource's module instances, or of a list of dependencies.
type depNode struct {
	index    int
	name     string
	addr     addrs.AbsResource // zero for a hub of module instances
	resource *Resource
	hub      bool
	list     bool // a hub of a list of dependencies
	exists   bool // it has objects
	steps    []*Step
	needs    []*depNode
	users    []*depNode
	newUsers []*newUsers       // what begins to depend on it
	guessed  map[*depNode]bool // needs that the configuration speaks of, where no record says what the objects were made from
	guesses  bool              // all needs are guessed
}

// allUsers lists what depends on x, with those that do so through a hub.
func (x *depNode) allUsers() func(yield func(*depNode) bool) {
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

func newRelations(b *build) depGraph {
	d := depGraph{b: b, at: map[addrs.AbsResource]*depNode{}, byResource: map[addrs.ConfigResource][]*depNode{},
		hubs: map[addrs.ConfigResource]*depNode{}, listHubs: map[sharedList]*depNode{}}
	for _, r := range b.g.Resources {
		if r.nested() {
			continue // it judges what the others have become, so it waits for all of them, deletions too
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

// addVanished adds what somebody else deleted: the order between what depended on it and what it depended on passes through it.
func (d *depGraph) addMissing() {
	for prior := range d.b.op.Plan.PrevRun.Resources() {
		r := d.b.g.ByAddr[prior.Addr.Config()]
		if r == nil || r.nested() || len(prior.Instances) == 0 {
			continue
		}
		if x := d.ensure(prior.Addr, r); !x.exists {
			x.exists = true
			d.byResource[r.Addr] = append(d.byResource[r.Addr], x)
		}
	}
}

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

// relate resolves lists of dependencies: stored ones, and one of the configuration that stands in where none was stored.
func (d *depGraph) connectNeeds(x *depNode, stored [][]addrs.ConfigResource, guess []addrs.ConfigResource) {
	x.guesses = len(stored) == 0
	lists := stored
	if len(guess) > 0 {
		lists = append(lists, guess)
	}
	if len(lists) == 1 && len(lists[0]) >= longList {
		if !slices.Contains(lists[0], x.resource.Addr) {
			x.needs = []*depNode{d.shared(x, lists[0])}
			return
		}
	}
	seen := map[addrs.ConfigResource]bool{x.resource.Addr: true}
	for i, list := range lists {
		for _, dep := range list {
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

// longList is the length from which a list of dependencies has a hub of its own, so that many resources that depend on the same many
// cost their sum and not their product.
const longList = 8

type sharedList struct {
	first  *addrs.ConfigResource
	len    int
	module addrs.ModuleInstance // what a dependency in the same module means depends on the module instance
}

func (d *depGraph) shared(x *depNode, list []addrs.ConfigResource) *depNode {
	key := sharedList{&list[0], len(list), x.addr.Module}
	h := d.listHubs[key]
	if h == nil {
		h = d.add(&depNode{addr: x.addr, resource: x.resource, name: x.name + " (dependencies)", hub: true, list: true})
		for _, dep := range list {
			if q := d.dependency(h, dep); q != nil {
				h.needs = append(h.needs, q)
			}
		}
		d.listHubs[key] = h
	}
	return h
}

// stored gives the lists of dependencies of a resource's objects as they were stored before planning: planning adds what the
// configuration wants now, which says nothing of what the objects are made from. What is new has its configuration's. So has, as a
// guess, what has none stored where that may be for want of a record: what is imported has none, data sources store none, and a state
// that is destroyed as it stands may come from a program that stored none.
func (d *depGraph) storedDeps(x *depNode) (lists [][]addrs.ConfigResource, guess []addrs.ConfigResource) {
	managed := x.addr.Resource.Mode == addrs.Managed
	prior := d.b.op.Plan.PrevRun.Resource(x.addr)
	switch {
	case prior == nil && managed:
		return [][]addrs.ConfigResource{x.resource.Deps}, nil
	case prior == nil:
		return nil, x.resource.Deps
	}
	seen := map[*addrs.ConfigResource]bool{} // instances mostly share one list
	for _, s := range x.steps {
		if s.Change.Importing != nil {
			guess = x.resource.Deps
		}
	}
	for _, inst := range prior.Instances {
		for o := range inst.Objects() {
			switch list := o.Dependencies; {
			case len(list) == 0 && (!managed || d.b.op.Phase.Destroys()):
				guess = x.resource.Deps
			case len(list) > 0 && !seen[&list[0]]:
				seen[&list[0]] = true
				lists = append(lists, list)
			}
		}
	}
	return lists, guess
}

// dependency finds what a stored dependency means for x: within one module the same module instance, elsewhere all instances
// through their hub.
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

// breakCycles makes an order possible where what is stored has none: lists were stored at different times, and an object that was
// deposed long ago may need what needs its successor today. On and between such cycles guesses count least; if they are not what closes
// them, only the configuration's dependencies do.
func (d *depGraph) breakCycles() {
	d.cutCycles(func(x, q *depNode) bool { return !x.guesses && !x.guessed[q] })
	d.cutCycles(func(x, q *depNode) bool { return x.resource.Config != nil && x.resource.refersTo(q.resource.Addr) })
}

// cutCycles takes out the dependencies on and between cycles, if there are any, but for those to keep.
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

// eachNeed lists what x depends on, with what is in lists that it shares.
func (x *depNode) eachNeed() func(yield func(*depNode) bool) {
	return func(yield func(*depNode) bool) {
		for _, q := range x.needs {
			if !q.list {
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

// refersTo tells whether the configuration depends on a resource, directly or by way of values.
func (r *Resource) refersTo(addr addrs.ConfigResource) bool {
	_, ok := slices.BinarySearchFunc(r.Deps, addr, states.CompareDependencies)
	return ok
}
