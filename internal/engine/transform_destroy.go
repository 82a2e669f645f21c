package engine

import (
	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// How destruction is ordered
//
// What is created or updated is ordered by the configuration's references. What is destroyed has no configuration any more, or one
// that says something else, so it is ordered by the dependencies that were stored with the objects (transform_relations.go). Those
// are the nearest ones only, since a closed list would cost the square of a chain's length, so the order has to pass through
// resources of which nothing is done. Each resource R (of one module instance) therefore gets a Barrier of each of these families.
// With D(R) the resources that depend on R by what is stored, and N(R) those that R depends on:
//
//	gone(R)         R's deletions,                 and gone(S)        for S in D(R)
//	clearedUp(R)    R's ordinary deletions,        and clearedUp(S)   for S in D(R)
//	clearedDown(R)  R's ordinary deletions,        and clearedDown(Q) for Q in N(R)
//	settled(R)      R's creations and updates,     and settled(S)     for S in D(R)
//	made(R)         R's creations and updates,     and made(Q)        for Q in N(R)
//
//	ordinary deletion of R[i]   waits for gone(S), S in D(R)            dependents are destroyed first
//	create or update R[i]       waits for its own ordinary deletion, clearedDown(Q) for Q in N(R), and clearedUp(S) for S in D(R)
//	late deletion of R[i]       waits for gone(S) and settled(S), S in D(R), made(Q), Q in N(R), and its own creation
//
// A deletion is late when the new object was created before, when it is of an object deposed earlier, and when the object goes away
// for good and what is left of D(R) doesn't refer to R any more: then whoever used it lets go of it first. All other deletions are
// ordinary. Two resources with a thousand instances each cost some thousands of edges; wired pairwise they would cost a million.
//
// One thing can't be had. Where a provider's configuration depends on a resource R that is created or updated, the provider deletes
// its objects after that; so neither R nor what R needs deleted first may wait for those deletions (remade, below).

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

// destroyOrder is the ordering under construction.
type destroyOrder struct {
	relations
	lateSteps map[*step]bool
	remade    []*remade
	families  map[familyKey][]*Node
}

// familyKey names a family of Barriers; without is a set of remade providers whose deletions are left out, as bits.
type familyKey struct {
	name    string
	without uint64
}

func newDestroyOrder(b *build) *destroyOrder {
	d := &destroyOrder{relations: newRelations(b), lateSteps: map[*step]bool{}, families: map[familyKey][]*Node{}}
	for _, x := range d.all {
		letGo := d.letGo(x)
		for _, s := range x.steps {
			if s.deletes() && d.late(s, letGo) {
				d.lateSteps[s] = true
			}
		}
	}
	d.findRemade()
	return d
}

func (s *step) deletes() bool { return s.part == stepDelete || s.part == stepDeposed }

// makes tells whether the step creates or updates.
func (s *step) makes() bool { return s.part == stepApply && s.change.Action != plans.NoOp }

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
func (d *destroyOrder) letGo(x *related) bool {
	if d.b.phase.destroy {
		return false
	}
	some := false
	for user := range x.allUsers() {
		if user.resource.cfg == nil || !user.makes() {
			continue
		}
		if user.resource.refersTo(x.resource.addr) {
			return false
		}
		some = true
	}
	return some
}

func (x *related) makes() bool {
	for _, s := range x.steps {
		if s.makes() {
			return true
		}
	}
	return false
}

func (d *destroyOrder) connect() {
	for _, x := range d.all {
		own := map[addrs.InstanceKey]*step{}
		for _, s := range x.steps {
			if s.part == stepApply {
				own[s.change.Addr.Key] = s
			}
		}
		c := connecting{destroyOrder: d, x: x, gates: map[string]*Node{}}
		for _, s := range x.steps {
			c.step(s, own[s.change.Addr.Key])
		}
	}
}

// connecting is the wiring of one resource; gates are Barriers that its steps share.
type connecting struct {
	*destroyOrder
	x     *related
	gates map[string]*Node
}

// step wires one step; create is the step of the same instance that creates, nil for none.
func (c *connecting) step(s, create *step) {
	b, x := c.b, c.x
	switch {
	case s.makes():
		b.after(s.node, c.gate("ready", func(gate *Node) {
			b.after(gate, c.family("cleared below", 0, x.needs)...)
			b.after(gate, c.family("cleared above", c.without(x, true), x.users)...)
		}))
	case s.part == stepForget && create != nil:
		b.after(create.node, s.node)
	case !s.deletes():
	case c.lateSteps[s]:
		b.after(s.node, c.gate("let go", func(gate *Node) {
			b.after(gate, c.family("gone", 0, x.users)...)
			b.after(gate, c.family("settled", 0, x.users)...)
			b.after(gate, c.family("made", 0, x.needs)...)
		}))
		if create != nil {
			b.after(s.node, create.node)
		}
	default:
		without := c.without(x, create != nil)
		name := "unused"
		if without != 0 && create != nil {
			name = "unused but for what is left out"
		}
		b.after(s.node, c.gate(name, func(gate *Node) { b.after(gate, c.family("gone", without, x.users)...) }))
		if create != nil {
			b.after(create.node, s.node)
		}
	}
}

// gate gives a Barrier of x, nil when it would wait for nothing.
func (c *connecting) gate(name string, connect func(*Node)) *Node {
	if len(c.x.needs)+len(c.x.users) == 0 {
		return nil
	}
	gate := c.gates[name]
	if gate == nil {
		gate = c.b.node(KindBarrier, nil, c.x.name+" ("+name+")", nil)
		c.gates[name] = gate
		connect(gate)
	}
	return gate
}

// families are made as a whole when they are first asked for. upward ones wait for a resource's users, the others for its needs.
var barrierFamilies = map[string]struct {
	upward bool
	own    func(d *destroyOrder, s *step) bool
}{
	"gone":          {true, func(_ *destroyOrder, s *step) bool { return s.deletes() }},
	"cleared above": {true, (*destroyOrder).ordinary},
	"cleared below": {false, (*destroyOrder).ordinary},
	"settled":       {true, func(_ *destroyOrder, s *step) bool { return s.makes() }},
	"made":          {false, func(_ *destroyOrder, s *step) bool { return s.makes() }},
}

func (d *destroyOrder) ordinary(s *step) bool { return s.deletes() && !d.lateSteps[s] }

// family gives the Barriers of some resources.
func (d *destroyOrder) family(name string, without uint64, of []*related) []*Node {
	if len(of) == 0 {
		return nil
	}
	key := familyKey{name, without}
	if d.families[key] == nil {
		d.families[key] = d.makeFamily(key)
	}
	out := make([]*Node, len(of))
	for i, x := range of {
		out[i] = d.families[key][x.index]
	}
	return out
}

func (d *destroyOrder) makeFamily(key familyKey) []*Node {
	kind := barrierFamilies[key.name]
	nodes := make([]*Node, len(d.all))
	for i, x := range d.all {
		nodes[i] = d.b.node(KindBarrier, nil, x.name+" ("+key.name+")", nil)
	}
	for i, x := range d.all {
		if !d.leftOut(x, key.without) {
			for _, s := range x.steps {
				if kind.own(d, s) {
					d.b.after(nodes[i], s.node)
				}
			}
		}
		next := x.needs
		if kind.upward {
			next = x.users
		}
		for _, y := range next {
			d.b.after(nodes[i], nodes[y.index])
		}
	}
	return nodes
}

// remade is a provider that deletes something, and whose configuration depends on resources that are created or updated.
type remade struct {
	reach map[*resource]bool // what the configuration depends on
	gates map[*related]bool  // what has to be deleted before something of reach is created or updated
	users map[*related]bool  // where it deletes something, and what has to wait for that
}

// maxRemade bounds the providers that are looked at, so that sets of them fit a word; the rest is ordered without leave.
const maxRemade = 64

func (d *destroyOrder) findRemade() {
	if d.b.phase.destroy {
		return
	}
	deletes := map[*providerConfig][]*related{}
	var order []*providerConfig
	for _, x := range d.all {
		for _, s := range x.steps {
			if s.deletes() {
				if deletes[x.resource.provider] == nil {
					order = append(order, x.resource.provider)
				}
				deletes[x.resource.provider] = append(deletes[x.resource.provider], x)
				break
			}
		}
	}
	for _, p := range order {
		if m := d.remadeBy(p, deletes[p]); m != nil && len(d.remade) < maxRemade {
			d.remade = append(d.remade, m)
		}
	}
}

func (d *destroyOrder) remadeBy(p *providerConfig, deletes []*related) *remade {
	if len(d.b.graph.Needs(p.node.ID)) == 0 {
		return nil
	}
	m := &remade{reach: map[*resource]bool{}}
	for id, reached := range d.b.graph.Reach(p.node.ID) {
		if reached && d.b.nodes[id].Kind == KindResource {
			m.reach[d.b.nodes[id].resource] = true
		}
	}
	var made []*related
	for _, x := range d.all {
		if m.reach[x.resource] && x.makes() {
			made = append(made, x)
		}
	}
	if len(made) == 0 {
		return nil
	}
	m.gates = below(made)
	m.users = below(deletes)
	for _, x := range deletes {
		m.users[x] = true
	}
	return m
}

// below gives everything that some resources need, directly or not; themselves only where one needs another.
func below(from []*related) map[*related]bool {
	out := map[*related]bool{}
	todo := from
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, q := range x.needs {
			if !out[q] {
				out[q] = true
				todo = append(todo[:len(todo):len(todo)], q)
			}
		}
	}
	return out
}

// without gives the set of providers whose deletions x must not wait for; making tells whether the waiting step is a creation or
// update, or comes before one of the same instance.
func (d *destroyOrder) without(x *related, making bool) uint64 {
	set := uint64(0)
	for i, m := range d.remade {
		if m.reach[x.resource] && making || m.gates[x] {
			set |= 1 << i
		}
	}
	return set
}

// leftOut tells whether x's deletions are not waited for in a family without some providers' deletions.
func (d *destroyOrder) leftOut(x *related, without uint64) bool {
	for i, m := range d.remade {
		if without&(1<<i) != 0 && m.users[x] {
			return true
		}
	}
	return false
}
