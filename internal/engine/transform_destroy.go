package engine

import (
	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// How destruction is ordered
//
// What is created or updated is ordered by the configuration's references. What is destroyed has no configuration any more, or one
// that says something else, so it is ordered by the dependencies that were stored with the objects. Those are the nearest ones only
// (a closed list would cost the square of a chain's length), so the order has to pass through resources of which nothing is done.
// Each resource R (of one module instance) therefore gets up to five Barriers. With D(R) the resources that depend on R by what is
// stored, and N(R) those that R depends on:
//
//	gone(R)         R's deletions,                    and gone(S)        for S in D(R)
//	clearedUp(R)    R's ordinary deletions,           and clearedUp(S)   for S in D(R)
//	clearedDown(R)  R's ordinary deletions,           and clearedDown(Q) for Q in N(R)
//	settled(R)      R's Resource node,                and settled(S)     for S in D(R)
//	ready(R)        clearedDown(Q) for Q in N(R),     and clearedUp(S)   for S in D(R)
//
//	delete R[i]              waits for gone(S), S in D(R)                      dependents are destroyed first
//	create or update R[i]    waits for its own ordinary deletion, and ready(R)
//	late deletion of R[i]    waits for create R[i], settled(S) for S in D(R), and the Resource nodes of N(R)
//
// A deletion is late when the new object was created before, when it is of an object deposed earlier, and when the object goes away
// for good and what is left of D(R) doesn't refer to R any more: then whoever used it lets go of it first. All other deletions are
// ordinary. Two resources with a thousand instances each cost some thousands of edges; wired pairwise they would cost a million.

var destroySplitTransformer = &Transformer{
	Name:  "DestroySplit",
	Doc:   "orders what is destroyed: among itself, and before or after what is created",
	After: []*Transformer{changesTransformer, referenceTransformer, replaceTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		if b.phase.steps && b.deletesAnything() {
			newDestroyOrder(b).connect()
		}
		return nil
	},
}

func (b *build) deletesAnything() bool {
	for _, steps := range b.steps {
		for _, s := range steps {
			if s.part != stepApply {
				return true
			}
		}
	}
	return false
}

// barriers are one resource's ordering points, see above.
type barriers struct {
	addr                                         addrs.AbsResource
	resource                                     *resource
	steps                                        []*step
	needs, users                                 []*barriers // N(R) and D(R)
	gone, clearedUp, clearedDown, settled, ready *Node
}

type destroyOrder struct {
	b   *build
	all []*barriers
	at  map[addrs.AbsResource]*barriers
	// of lists the module instances of a resource; hub joins them for dependents in other modules.
	of  map[addrs.ConfigResource][]*barriers
	hub map[addrs.ConfigResource]*barriers
}

func newDestroyOrder(b *build) *destroyOrder {
	d := &destroyOrder{b: b, at: map[addrs.AbsResource]*barriers{}, of: map[addrs.ConfigResource][]*barriers{},
		hub: map[addrs.ConfigResource]*barriers{}}
	for _, r := range b.resources {
		for _, prior := range r.prior {
			d.add(prior.Addr, r)
		}
		for _, s := range b.steps[r] {
			x := d.add(s.change.Addr.Abs(), r)
			x.steps = append(x.steps, s)
		}
	}
	return d
}

func (d *destroyOrder) add(addr addrs.AbsResource, r *resource) *barriers {
	x := d.at[addr]
	if x == nil {
		x = &barriers{addr: addr, resource: r}
		d.make(x, addr.String())
		d.at[addr] = x
		d.of[r.addr] = append(d.of[r.addr], x)
		d.all = append(d.all, x)
	}
	return x
}

func (d *destroyOrder) make(x *barriers, name string) {
	for _, p := range []struct {
		node **Node
		what string
	}{{&x.gone, "gone"}, {&x.clearedUp, "dependents cleared"}, {&x.clearedDown, "cleared"}, {&x.settled, "settled"}, {&x.ready, "ready"}} {
		*p.node = d.b.node(KindBarrier, nil, name+" ("+p.what+")", nil)
	}
}

func (d *destroyOrder) connect() {
	for _, x := range d.all {
		for _, dep := range d.stored(x) {
			for _, q := range d.dependency(x, dep) {
				x.needs = append(x.needs, q)
				q.users = append(q.users, x)
			}
		}
	}
	for _, x := range d.all {
		d.connectOne(x)
	}
	for _, h := range d.hub {
		d.connectHub(h)
	}
}

// stored gives the dependencies stored with a resource's objects, each once; an object without any uses its configuration's.
func (d *destroyOrder) stored(x *barriers) []addrs.ConfigResource {
	prior := d.b.state.Resource(x.addr)
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
		objs := []*stateObject{inst.Current}
		for _, o := range inst.Deposed {
			objs = append(objs, o)
		}
		for _, o := range objs {
			switch {
			case o == nil:
			case len(o.Dependencies) == 0:
				add(x.resource.deps)
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
func (d *destroyOrder) dependency(x *barriers, dep addrs.ConfigResource) []*barriers {
	if dep.Module == x.resource.addr.Module {
		if q := d.at[dep.Resource.InInstance(x.addr.Module)]; q != nil {
			return []*barriers{q}
		}
		return nil
	}
	of := d.of[dep]
	if len(of) <= 1 {
		return of
	}
	h := d.hub[dep]
	if h == nil {
		h = &barriers{resource: of[0].resource, steps: nil}
		d.make(h, dep.String()+" (all)")
		d.hub[dep] = h
	}
	return []*barriers{h}
}

// connectHub makes the hub of several module instances pass everything on: what users of the hub ask of the resource is asked of
// every instance, and what every instance asks of its users is asked of the hub's.
func (d *destroyOrder) connectHub(h *barriers) {
	b := d.b
	for _, s := range h.users {
		b.after(h.gone, s.gone)
		b.after(h.clearedUp, s.clearedUp)
		b.after(h.settled, s.settled)
	}
	for _, q := range d.of[h.resource.addr] {
		b.after(h.clearedDown, q.clearedDown)
		b.after(q.gone, h.gone)
		b.after(q.clearedUp, h.clearedUp)
		b.after(q.settled, h.settled)
		b.after(q.ready, h.clearedUp)
		for _, s := range q.steps {
			d.connectDelete(s, q, h)
		}
	}
}

func (d *destroyOrder) connectOne(x *barriers) {
	b := d.b
	if x.resource.cfg != nil {
		b.after(x.settled, x.resource.node)
	}
	for _, s := range x.users {
		b.after(x.gone, s.gone)
		b.after(x.clearedUp, s.clearedUp)
		b.after(x.settled, s.settled)
		b.after(x.ready, s.clearedUp)
	}
	for _, q := range x.needs {
		b.after(x.clearedDown, q.clearedDown)
		b.after(x.ready, q.clearedDown)
	}
	own := map[addrs.InstanceKey][]*step{}
	for _, s := range x.steps {
		if s.part == stepApply {
			own[s.change.Addr.Key] = append(own[s.change.Addr.Key], s)
			if s.change.Action != plans.NoOp {
				b.after(s.node, x.ready)
			}
		}
	}
	letGo := d.letGo(x)
	for _, s := range x.steps {
		switch {
		case s.part == stepApply:
			continue
		case s.part == stepForget:
			for _, create := range own[s.change.Addr.Key] {
				b.after(create.node, s.node)
			}
			continue
		case d.late(s, letGo):
			d.connectLate(s, x, own)
		default:
			b.after(x.clearedUp, s.node)
			b.after(x.clearedDown, s.node)
			for _, create := range own[s.change.Addr.Key] {
				b.after(create.node, s.node)
			}
		}
		b.after(x.gone, s.node)
		for _, user := range x.users {
			d.connectDelete(s, x, user)
		}
	}
}

// connectDelete makes the deletion s of x wait until what depends on x is destroyed. Where the two have different provider
// configurations and the user's provider is itself configured from x, which is replaced, that can't be had: the new x configures the
// provider that would have to delete the user first. The edge is left out then, as everyone does.
func (d *destroyOrder) connectDelete(s *step, x, user *barriers) {
	if s.part != stepDelete && s.part != stepDeposed {
		return
	}
	if !d.b.phase.destroy && s.change.Action.IsReplace() && user.resource.provider != x.resource.provider &&
		user.resource.provider.needs(d.b, x.resource) {
		return
	}
	d.b.after(s.node, user.gone)
}

// needs tells whether a provider's configuration depends on a resource.
func (p *providerConfig) needs(b *build, r *resource) bool {
	if p.reaches == nil {
		p.reaches = map[*resource]bool{}
		for id, reached := range b.graph.Reach(p.node.ID) {
			if reached && b.nodes[id].Kind == KindResource {
				p.reaches[b.nodes[id].resource] = true
			}
		}
	}
	return p.reaches[r]
}

// late tells whether a deletion comes after what its users do rather than before.
func (d *destroyOrder) late(s *step, letGo bool) bool {
	switch {
	case s.part == stepDeposed:
		return true
	case s.change.Action == plans.DeleteThenCreate:
		return false
	}
	return letGo || d.flagged(s)
}

// flagged tells whether the object was stored, or else is configured, as one to be replaced by creating first.
func (d *destroyOrder) flagged(s *step) bool {
	if inst := d.b.state.Instance(s.change.Addr); inst != nil && inst.Current != nil && inst.Current.CreateBeforeDestroy {
		return true
	}
	return s.resource.cfg != nil && s.resource.cbd
}

// letGo tells whether some of what depends on x by the stored dependencies stays and is changed, and none of it refers to x any
// more.
func (d *destroyOrder) letGo(x *barriers) bool {
	if d.b.phase.destroy {
		return false
	}
	some := false
	for _, user := range x.users {
		if d.hub[user.resource.addr] == user {
			return false
		}
		if user.resource.cfg == nil || !hasApply(user.steps) {
			continue
		}
		for _, dep := range user.resource.deps {
			if dep == x.resource.addr {
				return false
			}
		}
		some = true
	}
	return some
}

func hasApply(steps []*step) bool {
	for _, s := range steps {
		if s.part == stepApply && s.change.Action != plans.NoOp {
			return true
		}
	}
	return false
}

func (d *destroyOrder) connectLate(s *step, x *barriers, own map[addrs.InstanceKey][]*step) {
	b := d.b
	for _, create := range own[s.change.Addr.Key] {
		b.after(s.node, create.node)
	}
	for _, user := range x.users {
		b.after(s.node, user.settled)
	}
	for _, q := range x.needs {
		if q.resource.cfg != nil {
			b.after(s.node, q.resource.node)
		}
	}
}
