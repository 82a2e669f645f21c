package graph

import (
	"context"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
)

// How destruction is ordered
//
// The configuration's references order creations and updates. They cannot order deletions: a
// deleted object is no longer in the configuration, or the configuration has changed since it was
// created. Deletions are therefore ordered by the dependencies that are stored with the objects
// (transform_dependencies.go).
//
// Only the nearest dependencies are stored, since storing all of them would cost the square of the
// length of a chain. So the order must pass through resources that do not change. For this, each
// resource R (in one module instance) has Barriers of several families. A family is only added if
// some Step has to wait for one of its Barriers. According to the stored dependencies, D(R) are the
// resources that depend on R, and N(R) are the resources that R depends on. Each Barrier waits for:
//
//	gone(R)         R's deletions,                 and gone(S)        for S in D(R)
//	clearedUp(R)    R's ordinary deletions,        and clearedUp(S)   for S in D(R)
//	clearedDown(R)  R's ordinary deletions,        and clearedDown(Q) for Q in N(R)
//	settled(R)      R's creations and updates,     and settled(S)     for S in D(R)
//	changed(R)      R's updates,                   and changed(S)     for S in D(R)
//	made(R)         R's creations and updates,     and made(Q)        for Q in N(R)
//
// If the only Step of R is a deletion, it waits for the same nodes as gone(R) and replaces it.
//
// The Steps of an instance R[i] wait for these Barriers and Steps:
//
//	ordinary deletion     gone(S) for S in D(R)
//	creation or update    the ordinary deletion of R[i], clearedDown(Q) for Q in N(R),
//	                      and clearedUp(S) for S in D(R)
//	late deletion         the creation of R[i], made(Q) for Q in N(R),
//	                      gone(S), changed(S) and settled(S) for S in D(R),
//	                      and settled(T) for each new user T of R (transform_new_users.go)
//
// An ordinary deletion comes after the deletions of its dependents, and before anything is created
// in its place. A late deletion comes after its dependents have stopped using the object. A
// deletion is late in three cases: the object is deposed; create_before_destroy applies to the
// object; or some objects of D(R) change and none of these resources still refer to R. Objects that
// are destroyed before their replacement is created don't count: nothing uses R's objects then. The
// deletion that begins a replacement is never late.
//
// Two resources with a thousand instances each cost a few thousand edges with Barriers. Edges
// between pairs of instances would cost a million.
//
// The stored dependencies and the configuration may contradict each other. This order then has
// cycles. For example, the provider that deletes an object may be configured from a resource that
// has to wait for the deletion, or an object that is deleted late may depend on an object that is
// replaced. In such cases, the least important edges are dropped, in the order of gateKinds.

var destroySplitTransformer = &Transformer{
	Name:  "DestroySplit",
	Doc:   "orders deletions among themselves and relative to creations and updates",
	After: []*Transformer{changesTransformer, referenceTransformer, replaceTransformer},
	Run: func(_ context.Context, b *build) error {
		if b.op.Phase.Applies() && b.deletesAnything() {
			newDestroyOrder(b).connect()
		}
		return nil
	},
}

func (b *build) deletesAnything() bool {
	for _, steps := range b.steps {
		for _, s := range steps {
			if s.Part != reads.StepApply {
				return true
			}
		}
	}
	return false
}

// destroyOrder is the ordering under construction.
type destroyOrder struct {
	depGraph
	lateDeletions map[*reads.Step]bool
	families      map[familyName][]*reads.Node
	nonEmpty      map[familyName]bool                  // whether any Step belongs to the family
	newUsers      map[addrs.ConfigResource][]*newUsers // groups of new users of a resource in another module
	gates         [len(gateKinds)][]*reads.Node
}

func newDestroyOrder(b *build) *destroyOrder {
	d := &destroyOrder{depGraph: newDepGraph(b), lateDeletions: map[*reads.Step]bool{}, families: map[familyName][]*reads.Node{},
		nonEmpty: map[familyName]bool{}, newUsers: map[addrs.ConfigResource][]*newUsers{}}
	for _, x := range d.all {
		detached := d.detached(x)
		for _, s := range x.steps {
			if s.Deletes() && d.isLate(s, detached) {
				d.lateDeletions[s] = true
			}
		}
	}
	if len(d.lateDeletions) > 0 {
		d.findNewUsers()
	}
	return d
}

// isLate reports whether a deletion is late. detached is the result of destroyOrder.detached for
// the resource.
func (d *destroyOrder) isLate(s *reads.Step, detached bool) bool {
	switch {
	case s.Part == reads.StepDeposed:
		return true
	case s.Change.Action == plans.DeleteThenCreate:
		return false
	}
	return detached || d.flagged(s)
}

// flagged reports whether create_before_destroy applies to the object, according to the state or
// the configuration.
func (d *destroyOrder) flagged(s *reads.Step) bool {
	if obj := d.b.op.Prior.Current(s.Change.Addr); obj != nil && obj.CreateBeforeDestroy {
		return true
	}
	return s.Resource.Config != nil && s.Resource.CreateBeforeDestroy
}

// detached reports whether objects of dependents of x change but none of these still refers to x.
// Dependents are configured resources that depend on x according to the stored dependencies.
func (d *destroyOrder) detached(x *depNode) bool {
	if d.b.op.Phase.Destroys() {
		return false
	}
	changing := false
	for user := range x.allUsers() {
		if user.resource.Config == nil || !user.writes() {
			continue
		}
		if user.resource.Recorded.Dependencies.Has(x.resource.Addr) {
			return false
		}
		changing = changing || slices.ContainsFunc(user.steps, needsOld)
	}
	return changing
}

// needsOld reports whether a Step writes while an older object or reader still uses what that was
// created from. It doesn't if there is none, or if it is destroyed before.
func needsOld(s *reads.Step) bool {
	return s.Writes() && s.Change.Action != plans.Create && s.Change.Action != plans.DeleteThenCreate
}

func (x *depNode) writes() bool {
	for _, s := range x.steps {
		if s.Writes() {
			return true
		}
	}
	return false
}

func (d *destroyOrder) connect() {
	for _, x := range d.all {
		own := map[addrs.InstanceKey]*reads.Step{}
		for _, s := range x.steps {
			if s.Part == reads.StepApply {
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

// connecting connects the Steps of one resource in one module instance. These Steps share gates.
type connecting struct {
	*destroyOrder
	x    *depNode
	open [len(gateKinds)]*reads.Node
}

// step connects one Step. create is the Step that creates or updates the same instance; it may be
// nil.
func (c *connecting) step(s, create *reads.Step) {
	b := c.b
	switch {
	case s.Writes():
		b.after(s.Node, c.gate(usersCleared), c.gate(needsCleared))
	case s.Part == reads.StepForget && create != nil:
		b.after(create.Node, s.Node)
	case !s.Deletes():
	case c.lateDeletions[s]:
		b.after(
			s.Node,
			c.gate(usersGone),
			c.gate(usersChanged),
			c.gate(usersSettled),
			c.gate(needsMade),
			c.newUsersGate(),
		)
		if create != nil {
			b.after(s.Node, create.Node)
		}
	case create != nil:
		b.after(s.Node, c.gate(usersGoneBefore))
		b.after(create.Node, s.Node)
	default:
		b.after(s.Node, c.gate(usersGone))
	}
}

// A gateKind is a kind of gate. A gate is a Barrier that waits for Barriers of one family. Steps of
// one resource wait for the gate.
type gateKind uint8

const (
	newUsersSettled gateKind = iota // awaited by late deletions
	needsMade                       // awaited by late deletions
	usersSettled                    // awaited by late deletions
	needsCleared                    // awaited by creations and updates
	usersCleared                    // awaited by creations and updates
	usersChanged                    // awaited by late deletions
	usersGoneBefore                 // awaited by deletions that begin a replacement
	usersGone                       // awaited by deletions
	hardGates
)

// gateKinds lists, for each kind of gate, the family that it waits for, and whether it waits for
// the Barriers of a resource's users or of its needs. To break cycles, gates are dropped in this
// order. The last kind is never dropped: an object is never deleted before the objects that were
// created from it, except at the start of a replacement.
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

// gate returns the gate of the given kind, or nil if it would wait for nothing.
func (c *connecting) gate(kind gateKind) *reads.Node {
	spec, others := gateKinds[kind], c.x.needs
	if spec.users {
		others = c.x.users
	}
	if len(others) == 0 || !c.present(spec.family) {
		return nil
	}
	if len(others) == 1 && spec.hard && c.x.instance { // avoid a gate per instance if many instances wait for one node
		return c.family(spec.family, others)[0]
	}
	if c.open[kind] == nil {
		gate := c.b.node(reads.KindBarrier, nil, c.x.name()+" (waits until "+string(spec.family)+")", nil)
		c.b.after(gate, c.family(spec.family, others)...)
		c.open[kind] = gate
		c.gates[kind] = append(c.gates[kind], gate)
	}
	return c.open[kind]
}

// relax breaks cycles. It cuts the gates that are on cycles, one kind after the other and the least
// important kind first, until no cycle is left. Then it restores each kind of gate that did not
// have to be cut.
func (d *destroyOrder) relax() {
	var cuts [][]cutGate
	for kind := gateKind(0); kind < hardGates && !d.ordered(); kind++ {
		cuts = append(cuts, d.cut(kind))
	}
	d.b.g.Relaxed = len(cuts) > 0
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

func (d *destroyOrder) ordered() bool { return d.b.g.Edges.Acyclic() }

func (d *destroyOrder) reconnect(c cutGate) {
	for _, need := range c.needs {
		d.b.g.Edges.Connect(c.gate, need)
	}
}

// cutGate is a gate that was cut, with the vertices that it waited for.
type cutGate struct {
	gate  dag.ID
	needs []dag.ID
}

// cut disconnects the gates of the given kind that are on cycles, and returns them.
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

// familyName is the name of a family of Barriers. It describes the state of the resource after the
// Barrier.
type familyName string

const (
	familyGone        familyName = "gone"
	familyClearedUp   familyName = "users cleared"
	familyClearedDown familyName = "cleared"
	familySettled     familyName = "settled"
	familyChanged     familyName = "changed"
	familyMade        familyName = "made"
)

// barrierFamilies says, for each family, which Steps of a resource its Barrier waits for, and
// whether it also waits for the Barriers of the resource's users (upward) or of its needs.
var barrierFamilies = map[familyName]struct {
	upward bool
	own    func(d *destroyOrder, s *reads.Step) bool
}{
	familyGone:        {true, func(_ *destroyOrder, s *reads.Step) bool { return s.Deletes() }},
	familyClearedUp:   {true, (*destroyOrder).ordinary},
	familyClearedDown: {false, (*destroyOrder).ordinary},
	familySettled:     {true, func(_ *destroyOrder, s *reads.Step) bool { return s.Writes() }},
	familyChanged: {
		true,
		func(_ *destroyOrder, s *reads.Step) bool {
			return s.Part == reads.StepApply && s.Change.Action == plans.Update
		},
	},
	familyMade: {false, func(_ *destroyOrder, s *reads.Step) bool { return s.Writes() }},
}

// present reports whether the Barriers of a family would wait for any Step.
func (d *destroyOrder) present(name familyName) bool {
	found, known := d.nonEmpty[name]
	if !known {
		found = slices.ContainsFunc(d.all, func(x *depNode) bool {
			return slices.ContainsFunc(x.steps, func(s *reads.Step) bool { return barrierFamilies[name].own(d, s) })
		})
		d.nonEmpty[name] = found
	}
	return found
}

// ordinary reports whether the Step is an ordinary deletion.
func (d *destroyOrder) ordinary(s *reads.Step) bool { return s.Deletes() && !d.lateDeletions[s] }

// family returns the Barriers of the given resources in one family. On the first call for a family,
// it adds the Barriers of all resources.
func (d *destroyOrder) family(name familyName, of []*depNode) []*reads.Node {
	if d.families[name] == nil {
		d.families[name] = d.makeFamily(name)
	}
	out := make([]*reads.Node, len(of))
	for i, x := range of {
		out[i] = d.families[name][x.index]
	}
	return out
}

// isDeletion reports whether the only Step of x is a deletion. Such a Step replaces gone(x),
// because it waits for the same nodes.
func (x *depNode) isDeletion() bool { return len(x.steps) == 1 && x.steps[0].Deletes() }

func (d *destroyOrder) makeFamily(name familyName) []*reads.Node {
	kind := barrierFamilies[name]
	nodes := make([]*reads.Node, len(d.all))
	for i, x := range d.all {
		if name == familyGone && x.isDeletion() {
			nodes[i] = x.steps[0].Node
		} else {
			nodes[i] = d.b.node(reads.KindBarrier, nil, x.name()+" ("+string(name)+")", nil)
		}
	}
	for i, x := range d.all {
		if nodes[i].Kind == reads.KindStep {
			continue
		}
		for _, s := range x.steps {
			if kind.own(d, s) {
				d.b.after(nodes[i], s.Node)
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
