package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// How destruction is ordered
//
// What is created or updated is ordered by the configuration's references. What is destroyed has no configuration any more, or one
// that says something else, so it is ordered by the dependencies that were stored with the objects (transform_dependencies.go). Those
// are the nearest ones only, since a closed list would cost the square of a chain's length, so the order has to pass through
// resources of which nothing is done. Each resource R (of one module instance) therefore gets a Barrier of each of these families.
// With D(R) the resources that depend on R by what is stored, and N(R) those that R depends on:
//
//	gone(R)         R's deletions,                 and gone(S)        for S in D(R)
//	clearedUp(R)    R's ordinary deletions,        and clearedUp(S)   for S in D(R)
//	clearedDown(R)  R's ordinary deletions,        and clearedDown(Q) for Q in N(R)
//	settled(R)      R's creations and updates,     and settled(S)     for S in D(R)
//	changed(R)      R's updates,                   and changed(S)     for S in D(R)
//	made(R)         R's creations and updates,     and made(Q)        for Q in N(R)
//
//	ordinary deletion of R[i]   waits for gone(S), S in D(R)            dependents are destroyed first
//	create or update R[i]       waits for its own ordinary deletion, clearedDown(Q) for Q in N(R), and clearedUp(S) for S in D(R)
//	late deletion of R[i]       waits for gone(S), changed(S) and settled(S), S in D(R), made(Q), Q in N(R), and its own creation;
//	                            and for settled(T) of the T that begin to refer to R (transform_new_users.go)
//
// A deletion is late when the new object was created before, when it is of an object deposed earlier, and when the object goes away
// for good and what is left of D(R) doesn't refer to R any more: then whoever used it lets go of it first. All other deletions are
// ordinary. Two resources with a thousand instances each cost some thousands of edges; wired pairwise they would cost a million.
//
// What was stored and what is configured may contradict each other, so that this order goes round in a circle: the provider that is to
// delete something may be configured from what must wait for that; what is deleted late may need what is replaced. Then the waits that
// matter least are given up, in the order of gateKinds.

var destroySplitTransformer = &Transformer{
	Name:  "DestroySplit",
	Doc:   "orders what is destroyed: among itself, and before or after what is created",
	After: []*Transformer{changesTransformer, referenceTransformer, replaceTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		if b.op.Phase.Applies() && b.deletesAnything() {
			newDestroyOrder(b).connect()
		}
		return nil
	},
}

func (b *build) deletesAnything() bool {
	for _, steps := range b.steps {
		for _, s := range steps {
			if s.Part != stepApply {
				return true
			}
		}
	}
	return false
}

// destroyOrder is the ordering under construction.
type destroyOrder struct {
	depGraph
	lastDeletions map[*Step]bool
	families      map[familyName][]*Node
	nonEmpty      map[familyName]bool                  // whether a family has anything to wait for
	newUsers      map[addrs.ConfigResource][]*newUsers // what begins to refer to a resource of another module
	gates         [len(gateKinds)][]*Node
}

func newDestroyOrder(b *build) *destroyOrder {
	d := &destroyOrder{depGraph: newRelations(b), lastDeletions: map[*Step]bool{}, families: map[familyName][]*Node{},
		nonEmpty: map[familyName]bool{}, newUsers: map[addrs.ConfigResource][]*newUsers{}}
	for _, x := range d.all {
		letGo := d.detached(x)
		for _, s := range x.steps {
			if s.deletes() && d.deletedLast(s, letGo) {
				d.lastDeletions[s] = true
			}
		}
	}
	if len(d.lastDeletions) > 0 {
		d.findNewUsers()
	}
	return d
}

func (s *Step) deletes() bool { return s.Part == StepDelete || s.Part == StepDeposed }

// makes tells whether the step creates or updates.
func (s *Step) writes() bool { return s.Part == stepApply && s.Change.Action != plans.NoOp }

// late tells whether a deletion comes after what its users do rather than before.
func (d *destroyOrder) deletedLast(s *Step, letGo bool) bool {
	switch {
	case s.Part == StepDeposed:
		return true
	case s.Change.Action == plans.DeleteThenCreate:
		return false
	}
	return letGo || d.flagged(s)
}

// flagged tells whether the object was stored, or else is configured, as one to be replaced by creating first.
func (d *destroyOrder) flagged(s *Step) bool {
	if inst := d.b.op.Prior.Instance(s.Change.Addr); inst != nil && inst.Current != nil && inst.Current.CreateBeforeDestroy {
		return true
	}
	return s.Resource.Config != nil && s.Resource.CreateBeforeDestroy
}

// letGo tells whether some of what depends on x by the stored dependencies stays and is changed, and none of it refers to x any
// more.
func (d *destroyOrder) detached(x *depNode) bool {
	if d.b.op.Phase.Destroys() {
		return false
	}
	some := false
	for user := range x.allUsers() {
		if user.resource.Config == nil || !user.writes() {
			continue
		}
		if user.resource.refersTo(x.resource.Addr) {
			return false
		}
		some = true
	}
	return some
}

func (x *depNode) writes() bool {
	for _, s := range x.steps {
		if s.writes() {
			return true
		}
	}
	return false
}

func (d *destroyOrder) connect() {
	for _, x := range d.all {
		own := map[addrs.InstanceKey]*Step{}
		for _, s := range x.steps {
			if s.Part == stepApply {
				own[s.Change.Addr.Key] = s
			}
		}
		c := connecting{destroyOrder: d, x: x}
		for _, s := range x.steps {
			c.step(s, own[s.Change.Addr.Key])
		}
	}
	d.relax()
}

// connecting is the wiring of one resource; its steps share gates.
type connecting struct {
	*destroyOrder
	x    *depNode
	open [len(gateKinds)]*Node
}

// step wires one step; create is the step of the same instance that creates, nil for none.
func (c *connecting) step(s, create *Step) {
	b := c.b
	switch {
	case s.writes():
		b.after(s.node, c.gate(usersCleared), c.gate(needsCleared))
	case s.Part == StepForget && create != nil:
		b.after(create.node, s.node)
	case !s.deletes():
	case c.lastDeletions[s]:
		b.after(s.node, c.gate(usersGone), c.gate(usersChanged), c.gate(usersSettled), c.gate(needsMade), c.newUsersGate())
		if create != nil {
			b.after(s.node, create.node)
		}
	case create != nil:
		b.after(s.node, c.gate(usersGoneBefore))
		b.after(create.node, s.node)
	default:
		b.after(s.node, c.gate(usersGone))
	}
}

// gateKind is what the steps of a resource may wait for.
type gateKind uint8

const (
	newUsersSettled gateKind = iota // late deletions
	needsMade                       // late deletions
	usersSettled                    // late deletions
	needsCleared                    // creations and updates
	usersCleared                    // creations and updates
	usersChanged                    // late deletions
	usersGoneBefore                 // deletions that a replacement begins with
	usersGone                       // deletions
	hardGates
)

// gateKinds say what opens each kind of gate: a family's Barriers of the users or of the needs. The first ones are given up before the
// later ones; the last stays, so that no object goes before what was made from it unless the same place needs a new one first.
var gateKinds = [hardGates]struct {
	family familyName
	users  bool
	hard   bool
}{
	newUsersSettled: {family: familySettled},
	needsMade:       {family: familyMade},
	usersSettled:    {family: familySettled, users: true},
	needsCleared:    {family: familyClearedDown},
	usersCleared:    {family: familyClearedUp, users: true},
	usersChanged:    {family: familyChanged, users: true},
	usersGoneBefore: {family: familyGone, users: true},
	usersGone:       {family: familyGone, users: true, hard: true},
}

// gate gives a Barrier of x, nil when it would wait for nothing.
func (c *connecting) gate(kind gateKind) *Node {
	what, of := gateKinds[kind], c.x.needs
	if what.users {
		of = c.x.users
	}
	if len(of) == 0 || !c.present(what.family) {
		return nil
	}
	if c.open[kind] == nil {
		gate := c.b.node(KindBarrier, nil, c.x.name+" (waits until "+string(what.family)+")", nil)
		c.b.after(gate, c.family(what.family, of)...)
		c.open[kind] = gate
		c.gates[kind] = append(c.gates[kind], gate)
	}
	return c.open[kind]
}

// relax gives up waits that are part of a circle: kind by kind, those that matter least first, until there is an order. Kinds that
// need not have been given up for that, as it turns out, are waited for again.
func (d *destroyOrder) relax() {
	var cuts [][]cutGate
	for kind := gateKind(0); kind < hardGates && !d.ordered(); kind++ {
		cuts = append(cuts, d.cut(kind))
	}
	d.b.relaxed = len(cuts) > 0
	for i := len(cuts) - 2; i >= 0; i-- {
		for _, c := range cuts[i] {
			d.reconnect(c)
		}
		if d.ordered() {
			continue
		}
		for _, c := range cuts[i] {
			d.b.g.Edges.Disconnect(c.gate)
		}
	}
}

func (d *destroyOrder) ordered() bool {
	_, ok := d.b.g.Edges.Order()
	return ok
}

func (d *destroyOrder) reconnect(c cutGate) {
	for _, need := range c.needs {
		d.b.g.Edges.Connect(c.gate, need)
	}
}

type cutGate struct {
	gate  dag.ID
	needs []dag.ID
}

// cut opens the gates of a kind that are part of a circle.
func (d *destroyOrder) cut(kind gateKind) []cutGate {
	if len(d.gates[kind]) == 0 || gateKinds[kind].hard {
		return nil
	}
	var out []cutGate
	cyclic := d.b.g.Edges.Cyclic()
	for _, gate := range d.gates[kind] {
		if cyclic[gate.ID] {
			out = append(out, cutGate{gate.ID, d.b.g.Edges.Needs(gate.ID)})
			d.b.g.Edges.Disconnect(gate.ID)
		}
	}
	return out
}

// familyName names a family of Barriers, and says when one of them is passed.
type familyName string

const (
	familyGone        familyName = "gone"
	familyClearedUp   familyName = "users cleared"
	familyClearedDown familyName = "cleared"
	familySettled     familyName = "settled"
	familyChanged     familyName = "changed"
	familyMade        familyName = "made"
)

// barrierFamilies say which steps a family's Barriers wait for; upward ones wait for a resource's users too, the others for its needs.
// A family is made as a whole when it is first asked for.
var barrierFamilies = map[familyName]struct {
	upward bool
	own    func(d *destroyOrder, s *Step) bool
}{
	familyGone:        {true, func(_ *destroyOrder, s *Step) bool { return s.deletes() }},
	familyClearedUp:   {true, (*destroyOrder).ordinary},
	familyClearedDown: {false, (*destroyOrder).ordinary},
	familySettled:     {true, func(_ *destroyOrder, s *Step) bool { return s.writes() }},
	familyChanged:     {true, func(_ *destroyOrder, s *Step) bool { return s.Part == stepApply && s.Change.Action == plans.Update }},
	familyMade:        {false, func(_ *destroyOrder, s *Step) bool { return s.writes() }},
}

// present tells whether there is any step that a family's Barriers could wait for.
func (d *destroyOrder) present(name familyName) bool {
	found, known := d.nonEmpty[name]
	if !known {
		found = slices.ContainsFunc(d.all, func(x *depNode) bool {
			return slices.ContainsFunc(x.steps, func(s *Step) bool { return barrierFamilies[name].own(d, s) })
		})
		d.nonEmpty[name] = found
	}
	return found
}

func (d *destroyOrder) ordinary(s *Step) bool { return s.deletes() && !d.lastDeletions[s] }

// family gives the Barriers of some resources.
func (d *destroyOrder) family(name familyName, of []*depNode) []*Node {
	if d.families[name] == nil {
		d.families[name] = d.makeFamily(name)
	}
	out := make([]*Node, len(of))
	for i, x := range of {
		out[i] = d.families[name][x.index]
	}
	return out
}

func (d *destroyOrder) makeFamily(name familyName) []*Node {
	kind := barrierFamilies[name]
	nodes := make([]*Node, len(d.all))
	for i, x := range d.all {
		nodes[i] = d.b.node(KindBarrier, nil, x.name+" ("+string(name)+")", nil)
	}
	for i, x := range d.all {
		for _, s := range x.steps {
			if kind.own(d, s) {
				d.b.after(nodes[i], s.node)
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
