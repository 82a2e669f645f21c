package engine

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
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
}

// related is a resource of one module instance, or the hub of all of a resource's module instances.
type related struct {
	index    int
	name     string
	addr     addrs.AbsResource // zero for a hub
	resource *resource
	hub      bool
	old      bool // it has objects
	steps    []*step
	needs    []*related
	users    []*related
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
			for _, u := range user.users {
				if !yield(u) {
					return
				}
			}
		}
	}
}

func newRelations(b *build) relations {
	d := relations{b: b, at: map[addrs.AbsResource]*related{}, of: map[addrs.ConfigResource][]*related{},
		hub: map[addrs.ConfigResource]*related{}}
	for _, r := range b.resources {
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
	for _, x := range slices.Clone(d.all) {
		for _, dep := range d.stored(x) {
			if q := d.dependency(x, dep); q != nil {
				x.needs = append(x.needs, q)
			}
		}
	}
	d.breakCycles()
	for _, x := range d.all {
		for _, q := range x.needs {
			q.users = append(q.users, x)
		}
	}
	return d
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

// stored gives the dependencies of a resource's objects as they were stored before planning, each once: planning adds what the
// configuration wants now, which says nothing of what the objects are made from. What is new has its configuration's, and so has what
// has none stored where that may be for want of a record: data sources store none, and a state that is destroyed as it stands may come
// from a program that stored none.
func (d *relations) stored(x *related) []addrs.ConfigResource {
	prior := d.b.plan.PrevRun.Resource(x.addr)
	if prior == nil {
		prior = d.b.state.Resource(x.addr)
	}
	if prior == nil {
		return x.resource.deps
	}
	var out []addrs.ConfigResource
	seen := map[addrs.ConfigResource]bool{}
	add := func(deps []addrs.ConfigResource) {
		for _, dep := range deps {
			if !seen[dep] && dep != x.resource.addr {
				seen[dep] = true
				out = append(out, dep)
			}
		}
	}
	var last *addrs.ConfigResource // instances mostly share one list: look at each list once
	for _, inst := range prior.Instances {
		for o := range inst.Objects() {
			switch {
			case len(o.Dependencies) == 0:
				if x.addr.Resource.Mode != addrs.Managed || d.b.phase.destroy {
					add(x.resource.deps)
				}
			case last != &o.Dependencies[0]:
				last = &o.Dependencies[0]
				add(o.Dependencies)
			}
		}
	}
	return out
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
// deposed long ago may need what needs its successor today. On and between such cycles only the configuration's dependencies count.
func (d *relations) breakCycles() {
	graph := d.graph()
	if _, ok := graph.Order(); ok {
		return
	}
	cyclic := graph.Cyclic()
	for _, x := range d.all {
		if !x.hub && cyclic[x.index] {
			x.needs = slices.DeleteFunc(slices.Clone(x.needs), func(q *related) bool {
				return cyclic[q.index] && (x.resource.cfg == nil || !x.resource.refersTo(q.resource.addr))
			})
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
	_, ok := slices.BinarySearchFunc(r.deps, addr, compareStored)
	return ok
}
