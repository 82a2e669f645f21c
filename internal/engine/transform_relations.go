package engine

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/states"
)

// relations says which resources, each of one module instance, depend on which by what is stored with their objects.
type relations struct {
	b   *build
	all []*related
	at  map[addrs.AbsResource]*related
	// of lists the module instances of a resource that has objects: nothing depends on what is new. hub joins them for dependents in
	// other modules.
	of  map[addrs.ConfigResource][]*related
	hub map[addrs.ConfigResource]*related
	// lists are hubs of long lists of dependencies.
	lists map[sharedList]*related
}

// related is a resource of one module instance; or a hub: of all of a resource's module instances, or of a list of dependencies.
type related struct {
	index    int
	name     string
	addr     addrs.AbsResource // zero for a hub of module instances
	resource *resource
	hub      bool
	list     bool // a hub of a list of dependencies
	old      bool // it has objects
	steps    []*step
	needs    []*related
	users    []*related
	starting []*starters       // what begins to depend on it
	guessed  map[*related]bool // needs that the configuration speaks of, where no record says what the objects were made from
	guesses  bool              // all needs are guessed
}

// allUsers lists what depends on x, with those that do so through a hub.
func (x *related) allUsers() func(yield func(*related) bool) {
	return func(yield func(*related) bool) {
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

func newRelations(b *build) relations {
	d := relations{b: b, at: map[addrs.AbsResource]*related{}, of: map[addrs.ConfigResource][]*related{},
		hub: map[addrs.ConfigResource]*related{}, lists: map[sharedList]*related{}}
	for _, r := range b.g.resources {
		if r.nested() {
			continue // it judges what the others have become, so it waits for all of them, deletions too
		}
		for _, prior := range r.prior {
			x := d.ensure(prior.Addr, r)
			d.of[r.addr] = append(d.of[r.addr], x)
			x.old = true
		}
		for _, s := range b.steps[r] {
			x := d.ensure(s.change.Addr.Abs(), r)
			x.steps = append(x.steps, s)
		}
	}
	d.addVanished()
	for _, x := range slices.Clone(d.all) {
		stored, guess := d.stored(x)
		d.relate(x, stored, guess)
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
func (d *relations) addVanished() {
	for prior := range d.b.op.plan.PrevRun.Resources() {
		r := d.b.g.byConfig[prior.Addr.Config()]
		if r == nil || r.nested() || len(prior.Instances) == 0 {
			continue
		}
		if x := d.ensure(prior.Addr, r); !x.old {
			x.old = true
			d.of[r.addr] = append(d.of[r.addr], x)
		}
	}
}

func (d *relations) ensure(addr addrs.AbsResource, r *resource) *related {
	x := d.at[addr]
	if x == nil {
		x = d.add(&related{addr: addr, resource: r, name: addr.String()})
		d.at[addr] = x
	}
	return x
}

func (d *relations) add(x *related) *related {
	x.index = len(d.all)
	d.all = append(d.all, x)
	return x
}

// relate resolves lists of dependencies: stored ones, and one of the configuration that stands in where none was stored.
func (d *relations) relate(x *related, stored [][]addrs.ConfigResource, guess []addrs.ConfigResource) {
	x.guesses = len(stored) == 0
	lists := stored
	if len(guess) > 0 {
		lists = append(lists, guess)
	}
	if len(lists) == 1 && len(lists[0]) >= longList {
		if !slices.Contains(lists[0], x.resource.addr) {
			x.needs = []*related{d.shared(x, lists[0])}
			return
		}
	}
	seen := map[addrs.ConfigResource]bool{x.resource.addr: true}
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
					x.guessed = map[*related]bool{}
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

func (d *relations) shared(x *related, list []addrs.ConfigResource) *related {
	key := sharedList{&list[0], len(list), x.addr.Module}
	h := d.lists[key]
	if h == nil {
		h = d.add(&related{addr: x.addr, resource: x.resource, name: x.name + " (dependencies)", hub: true, list: true})
		for _, dep := range list {
			if q := d.dependency(h, dep); q != nil {
				h.needs = append(h.needs, q)
			}
		}
		d.lists[key] = h
	}
	return h
}

// stored gives the lists of dependencies of a resource's objects as they were stored before planning: planning adds what the
// configuration wants now, which says nothing of what the objects are made from. What is new has its configuration's. So has, as a
// guess, what has none stored where that may be for want of a record: what is imported has none, data sources store none, and a state
// that is destroyed as it stands may come from a program that stored none.
func (d *relations) stored(x *related) (lists [][]addrs.ConfigResource, guess []addrs.ConfigResource) {
	managed := x.addr.Resource.Mode == addrs.Managed
	prior := d.b.op.plan.PrevRun.Resource(x.addr)
	switch {
	case prior == nil && managed:
		return [][]addrs.ConfigResource{x.resource.deps}, nil
	case prior == nil:
		return nil, x.resource.deps
	}
	seen := map[*addrs.ConfigResource]bool{} // instances mostly share one list
	for _, s := range x.steps {
		if s.change.Importing != nil {
			guess = x.resource.deps
		}
	}
	for _, inst := range prior.Instances {
		for o := range inst.Objects() {
			switch list := o.Dependencies; {
			case len(list) == 0 && (!managed || d.b.op.phase.Destroys()):
				guess = x.resource.deps
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
func (d *relations) dependency(x *related, dep addrs.ConfigResource) *related {
	if dep.Module == x.resource.addr.Module {
		if q := d.at[dep.Resource.InInstance(x.addr.Module)]; q != nil && q.old {
			return q
		}
		return nil
	}
	of := d.of[dep]
	switch len(of) {
	case 0:
		return nil
	case 1:
		return of[0]
	}
	h := d.hub[dep]
	if h == nil {
		h = d.add(&related{resource: of[0].resource, name: dep.String() + " (all)", hub: true, needs: of})
		d.hub[dep] = h
	}
	return h
}

// breakCycles makes an order possible where what is stored has none: lists were stored at different times, and an object that was
// deposed long ago may need what needs its successor today. On and between such cycles guesses count least; if they are not what closes
// them, only the configuration's dependencies do.
func (d *relations) breakCycles() {
	d.cutCycles(func(x, q *related) bool { return !x.guesses && !x.guessed[q] })
	d.cutCycles(func(x, q *related) bool { return x.resource.cfg != nil && x.resource.refersTo(q.resource.addr) })
}

// cutCycles takes out the dependencies on and between cycles, if there are any, but for those to keep.
func (d *relations) cutCycles(keep func(x, q *related) bool) {
	graph := d.graph()
	if _, ok := graph.Order(); ok {
		return
	}
	cyclic := graph.Cyclic()
	for _, x := range d.all {
		if x.hub || !cyclic[x.index] {
			continue
		}
		var kept []*related
		for q := range x.eachNeed() {
			if !cyclic[q.index] || keep(x, q) {
				kept = append(kept, q)
			}
		}
		x.needs = kept
	}
}

// eachNeed lists what x depends on, with what is in lists that it shares.
func (x *related) eachNeed() func(yield func(*related) bool) {
	return func(yield func(*related) bool) {
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

func (d *relations) graph() *dag.Graph {
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
func (r *resource) refersTo(addr addrs.ConfigResource) bool {
	_, ok := slices.BinarySearchFunc(r.deps, addr, states.CompareDependencies)
	return ok
}
