package graph

import (
	"iter"
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// How the order passes through instances that don't change
//
// An instance without a change has no Step, and its value comes from the state. A reader of this
// instance waits for a Barrier instead. The Barrier waits for what the instance itself would wait for
// if it had a Step: for what its block refers to and, if the block reads single instances, only for
// those that this instance reads. So c[0] passes on the order from a[0] to the readers of c[0], even
// if no instance of c changes, and a failure of a[1] concerns none of them. A Barrier is added when
// the first reader needs it; all readers share it.
//
// For data sources, the plan lists only the instances that the apply reads. All others are in the
// state.

// addIdle records a planned instance that doesn't change and has no Step.
func (o *instanceOrder) addIdle(r *Resource, change *plans.InstanceChange) {
	if o.op.Phase != PhaseApply {
		return
	}
	o.idle[r] = append(o.idle[r], change)
	o.noteInstances(r.Module, change.Addr.Module)
}

// noteIdleData records the module instances in which results of a data source are not read again.
func (o *instanceOrder) noteIdleData(r *Resource) {
	if !o.idleData(r) {
		return
	}
	for _, prior := range r.Prior {
		o.noteInstances(r.Module, prior.Addr.Module)
	}
}

// ordered reports whether readers can wait for single instances of a resource: it has Steps, or
// instances that don't change.
func (b *build) ordered(r *Resource) bool { return len(b.steps[r]) > 0 || b.instances.hasIdle(r) }

// hasIdle reports whether instances of a resource exist and don't change.
func (o *instanceOrder) hasIdle(r *Resource) bool { return len(o.idle[r]) > 0 || o.idleData(r) }

// idleData reports whether a resource is a data source with results that are not read again. The
// plan has no changes for these, so the state tells which instances there are.
func (o *instanceOrder) idleData(r *Resource) bool {
	return r.Addr.Resource.Mode == addrs.Data && len(r.Prior) > 0 && r.Config != nil && r.Config.Check == nil &&
		o.op.Phase == PhaseApply && o.op.Early != nil && !o.op.Partial()
}

// idleOf returns the instances of a resource that exist and don't change, by instance key.
func (o *instanceOrder) idleOf(r *Resource) map[addrs.InstanceKey][]addrs.AbsInstance {
	if byKey, ok := o.idleByKey[r]; ok || !o.hasIdle(r) {
		return byKey
	}
	byKey := map[addrs.InstanceKey][]addrs.AbsInstance{}
	o.idleByKey[r] = byKey
	for addr := range o.idleInstances(r) {
		byKey[addr.Key] = append(byKey[addr.Key], addr)
	}
	return byKey
}

// idleInstances returns the instances of a resource that exist and don't change.
func (o *instanceOrder) idleInstances(r *Resource) iter.Seq[addrs.AbsInstance] {
	return func(yield func(addrs.AbsInstance) bool) {
		for _, change := range o.idle[r] {
			if !yield(change.Addr) {
				return
			}
		}
		if !o.idleData(r) {
			return
		}
		for _, prior := range r.Prior {
			for _, key := range prior.SortedKeys() {
				if addr := prior.Addr.Instance(key); o.applyStep(r, addr) == nil && !yield(addr) {
					return
				}
			}
		}
	}
}

// lastNode returns the Step of an instance or, if the instance doesn't change, a Barrier that waits
// for everything that the instance needs. It returns nil if the run knows no such instance.
func (o *instanceOrder) lastNode(r *Resource, addr addrs.AbsInstance) *Node {
	if s := o.applyStep(r, addr); s != nil {
		return s.node
	}
	if n := o.unchanged[addr]; n != nil {
		return n
	}
	change := o.op.Plan.Changes.Instance(addr, addrs.NotDeposed)
	switch {
	case change != nil && change.Action != plans.NoOp:
		return nil
	case change == nil && (!o.idleData(r) || o.op.Prior.Instance(addr) == nil):
		return nil
	case change == nil:
		change = &plans.InstanceChange{Addr: addr, Action: plans.NoOp, Reads: r.earlyReads(o.earlyKeys(), addr)}
	}
	n := o.node(KindBarrier, nil, addr.String()+" (unchanged)", nil)
	n.Resource, n.Object = r, change
	o.unchanged[addr] = n
	o.after(n, o.g.Part(r.expand, addr.Module))
	o.awaitNeeds(n, r, change)
	return n
}

// connectBarriers makes the Barriers for constant keys wait for the instances that don't change.
// Only now is it known what these wait for.
func (o *instanceOrder) connectBarriers(r *Resource) {
	if !o.hasIdle(r) || len(r.Barriers) == 0 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(r.Barriers), addrs.InstanceKey.Compare)
	for _, key := range keys {
		for _, addr := range o.idleOf(r)[key] {
			o.after(o.g.Part(r.Barriers[key].node, addr.Module), o.lastNode(r, addr))
		}
	}
}

// passOrder makes the nodes that complete a resource with instances that don't change wait for
// everything for which the instances wait one by one. So the order passes through these instances.
func (o *instanceOrder) passOrder(r *Resource) {
	if !o.hasIdle(r) {
		return
	}
	for _, indexed := range r.Indexed {
		o.after(r.Node, indexed.whole())
	}
	for _, edge := range o.later[r.Inputs] {
		o.after(r.Node, edge.to)
	}
	if !r.Node.Split || len(r.Indexed) == 0 {
		return
	}
	done := map[addrs.ModuleInstance]bool{}
	for addr := range o.idleInstances(r) {
		if in := addr.Module; !done[in] {
			done[in] = true
			o.awaitIndexed(o.g.Part(r.Node, in), r, in)
		}
	}
}

// passOrderIn is like passOrder, but for the node that completes the resource in one module instance.
func (o *instanceOrder) passOrderIn(n *Node, r *Resource, in addrs.ModuleInstance) {
	if !o.hasIdle(r) {
		return
	}
	o.after(n, o.needsIn(r, in))
	o.awaitIndexed(n, r, in)
	for _, edge := range o.later[r.Inputs] {
		o.after(n, edge.to)
	}
}

// awaitIndexed makes a node in a module instance wait, as a whole, for the resources and aliases that a
// block reads by computed indexes.
func (o *instanceOrder) awaitIndexed(n *Node, r *Resource, in addrs.ModuleInstance) {
	for _, indexed := range r.Indexed {
		o.after(n, o.localNodes(indexed.whole(), r.Module, in)...)
	}
}
