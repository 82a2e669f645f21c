package graph

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/plans"
)

// How Steps wait for instances
//
// If an instance fails, only the instances that need it should be skipped. For two kinds of
// references, it is known before anything is evaluated which instances they need:
//
//   - A reference between blocks of one module stays within one instance of the module:
//     module.m[0].b needs module.m[0].a, and is applied even if module.m[1].a fails. This applies to
//     direct references and depends_on. For references through values (variables, locals and
//     outputs), see value_instances.go.
//   - A reference with a constant key, such as a[0] or a["x"], needs one instance. Its block is
//     applied even if a[1] fails. This applies to references through values, too.
//
// A third kind is a reference with a computed index, such as a[count.index] or
// a[each.value.parent], directly in a resource block. The plan records with each change which
// instances its block reads in this way (plans.InstanceChange.Reads). So b[1] begins as soon as a[1]
// is done.
//
// The instance that is read may have no Step, because it doesn't change. Its reader then waits for
// what that instance needs; see unchanged_instances.go.
//
// The Steps of an ephemeral resource open its objects. They wait like the Steps that change
// objects, but the plan has no changes for them; see addOpenings.
//
// All other references wait for the resource as a whole. So do references with a constant key if no
// instance has this key, and references with an index that was unknown to the plan.
//
// There are no edges between all pairs of instances. The Steps of a resource in one instance of its
// module all wait for one Barrier, which waits for the nodes that the block's references need in
// that module instance. Additional edges exist only for the reads that the plan recorded.

var instancesTransformer = &Transformer{
	Name:  "Instances",
	Doc:   "makes Steps wait for the instances that they need, and Resources for their Steps",
	After: []*Transformer{changesTransformer, referenceTransformer, moduleTransformer, siblingsTransformer},
	Run: func(_ context.Context, b *build) error {
		for _, v := range b.g.Values {
			b.instances.awaitReads(v)
		}
		b.instances.connectCalls()
		for _, r := range b.g.Resources {
			if b.instances.ordered(r) {
				b.instances.connectSteps(r)
			}
			b.instances.connectBarriers(r)
		}
		return nil
	},
}

// instanceOrder makes Steps wait for the instances that they need. It is part of build because the
// transformers Changes and Reference fill in its fields.
type instanceOrder struct {
	*build
	writers        map[*Resource]map[addrs.InstanceKey][]*Step             // see writersOf
	idleByKey      map[*Resource]map[addrs.InstanceKey][]addrs.AbsInstance // see idleOf
	stepsAt        map[*Resource]map[addrs.AbsInstance]*Step               // see applyStep
	unchanged      map[addrs.AbsInstance]*Node                             // see lastNode
	moduleSteps    map[*Resource]*stepsByModule                            // see separateExpansion
	spread         map[*Module]moduleSpread
	keyed          map[*Module]bool                      // module calls whose single instances are read
	keyedResources map[*Resource]bool                    // resources that another block reads by a computed index
	idle           map[*Resource][]*plans.InstanceChange // see addIdle

	// These fields are for values; see value_instances.go.
	early    EarlyKeys // nil until the first call of earlyKeys
	carrying map[*Value]bool
	values   map[valueIn]*Node
}

func newInstanceOrder(b *build) *instanceOrder {
	return &instanceOrder{
		build:          b,
		writers:        map[*Resource]map[addrs.InstanceKey][]*Step{},
		idleByKey:      map[*Resource]map[addrs.InstanceKey][]addrs.AbsInstance{},
		stepsAt:        map[*Resource]map[addrs.AbsInstance]*Step{},
		unchanged:      map[addrs.AbsInstance]*Node{},
		moduleSteps:    map[*Resource]*stepsByModule{},
		spread:         map[*Module]moduleSpread{},
		keyed:          map[*Module]bool{},
		keyedResources: map[*Resource]bool{},
		idle:           map[*Resource][]*plans.InstanceChange{},
		carrying:       map[*Value]bool{},
		values:         map[valueIn]*Node{},
	}
}

// moduleSpread describes in which instances of a module single instances of resources can be awaited: in the
// module itself or in modules that it calls. If several is true, the module instances need nodes of
// their own, because there are several of them or something reads single ones.
type moduleSpread struct {
	last    addrs.ModuleInstance // one of the module instances
	several bool
}

// noteInstances records that resources have instances that create, update or don't change in a
// module instance, and so in each module instance that contains it. in is an instance of m.
func (o *instanceOrder) noteInstances(m *Module, in addrs.ModuleInstance) {
	for ; m != nil; m = m.Parent {
		known, ok := o.spread[m]
		if ok && known.last == in {
			return
		}
		o.spread[m] = moduleSpread{last: in, several: known.several || ok || o.keyedAround(m)}
		in, _ = in.Parent()
	}
}

// hasInstances reports whether resources in a module, or in one that it calls, have instances that
// create, update or don't change.
func (o *instanceOrder) hasInstances(m *Module) bool {
	_, ok := o.spread[m]
	return ok
}

// keyedAround reports whether something reads single instances of a module or of a module that
// contains it.
func (o *instanceOrder) keyedAround(m *Module) bool {
	for ; m != nil; m = m.Parent {
		if o.keyed[m] {
			return true
		}
	}
	return false
}

// stepsByModule holds the Steps of a resource by module instance, and what they wait for.
type stepsByModule struct {
	in     map[addrs.ModuleInstance]*moduleSteps
	local  []*Node // see localNeeds
	others *Node   // see localNeeds
	known  bool    // whether local and others are set
}

// moduleSteps holds the Steps of a resource within one module instance.
type moduleSteps struct {
	steps []*Step
	open  *Node // Barrier that the instances wait for; nil until first used
	node  *Node // completes the resource in the module instance; nil until first used
}

// separateExpansion adds a node that decides the instances of a resource without waiting for
// everything that its block refers to. It does so if the instances of the module have nodes of their
// own, or if other blocks read single instances.
func (o *instanceOrder) separateExpansion(r *Resource) {
	several := o.spread[r.Module].several
	if r.Config.Check != nil || !several && !o.keyedResources[r] || !o.ordered(r) {
		return
	}
	r.expand = o.node(KindExpand, r.Module, r.Inputs.Name, r.Inputs.Range)
	r.expand.Resource = r
	r.Inputs.Kind, r.Inputs.Name = KindBarrier, r.Addr.String()+" (needs)"
	if !several {
		return
	}
	o.moduleSteps[r] = &stepsByModule{in: map[addrs.ModuleInstance]*moduleSteps{}}
	for _, s := range o.steps[r] {
		if s.Part == stepApply {
			p := o.stepsIn(r, s.Change.Addr.Module)
			p.steps = append(p.steps, s)
		}
	}
}

// stepsIn returns the Steps of a resource in one module instance. The resource must have an entry
// in moduleSteps.
func (o *instanceOrder) stepsIn(r *Resource, in addrs.ModuleInstance) *moduleSteps {
	byModule := o.moduleSteps[r].in
	if byModule[in] == nil {
		byModule[in] = &moduleSteps{}
	}
	return byModule[in]
}

// connectSteps makes the Steps that create or update wait for the references of the block, and the
// resource wait for these Steps.
func (o *instanceOrder) connectSteps(r *Resource) {
	o.passOrder(r)
	completed := map[*Node]bool{}
	for _, s := range o.steps[r] {
		if s.Part != stepApply {
			continue
		}
		o.after(r.Node, s.node)
		o.awaitNeeds(s.node, r, s.Change)
		in := s.Change.Addr.Module
		if part := o.g.Part(r.Node, in); part != r.Node {
			if r.Inputs.Split && !completed[part] { // the Steps wait for the inputs, so a path through them is enough
				completed[part] = true
				o.g.Edges.Remove(part.ID, func(id dag.ID) bool { return id == o.g.Part(r.Inputs, in).ID })
			}
			o.after(part, s.node)
		}
	}
}

// awaitNeeds makes the node of an instance wait for everything that the instance needs.
func (o *instanceOrder) awaitNeeds(n *Node, r *Resource, change *plans.InstanceChange) {
	in := change.Addr.Module
	o.connectReads(n, r, change)
	o.awaitEach(n, r.Module, in)
	o.after(n, o.needsIn(r, in))
}

// needsIn returns the node that all instances of a resource in one module instance wait for. It
// waits for what the block refers to, except for what the instances wait for one by one.
func (o *instanceOrder) needsIn(r *Resource, in addrs.ModuleInstance) *Node {
	local, others := o.localNeeds(r)
	if local == nil || r.Inputs.Split {
		return o.g.Part(r.Inputs, in)
	}
	p := o.stepsIn(r, in)
	if p.open == nil {
		p.open = o.node(KindBarrier, nil, r.Addr.Resource.InInstance(in).String()+" (needs)", nil)
		p.open.Resource = r
		o.after(p.open, others)
		for _, n := range local {
			o.after(p.open, o.localNodes(n, r.Module, in)...)
		}
	}
	return p.open
}

// awaitEach makes a Step in a module instance wait for instances of the resources and calls in the
// for_each of the module's call and of the calls around it.
func (o *instanceOrder) awaitEach(n *Node, m *Module, in addrs.ModuleInstance) {
	for ; m != nil && m.chainedAround(); m = m.Parent {
		parent, step := in.Parent()
		if m.EachOf != nil {
			o.after(n, o.instanceNode(m.EachOf.Of, m.EachOf.In(m.Parent, parent), step.Key, nil))
		}
		if m.EachCall != nil {
			o.awaitEachCall(n, m, parent, step.Key)
		}
		in = parent
	}
}

// chainedAround reports whether a module or a module that contains it has an EachOf or EachCall.
func (m *Module) chainedAround() bool {
	for ; m != nil; m = m.Parent {
		if m.EachOf != nil || m.EachCall != nil {
			return true
		}
	}
	return false
}

// localNeeds returns the nodes that a resource with moduleSteps needs only within the same module
// instance, and a Barrier that waits for its other needs. Both results are nil if all instances of
// the resource have the same needs.
func (o *instanceOrder) localNeeds(r *Resource) (local []*Node, others *Node) {
	all := o.moduleSteps[r]
	switch {
	case all == nil:
		return nil, nil
	case all.known:
		return all.local, all.others
	}
	all.known = true
	var rest []*Node
	for _, id := range o.g.Edges.Needs(r.Inputs.ID) {
		if n := o.g.Nodes[id]; n.completes() || o.local(n, r.Module, false) {
			all.local = append(all.local, n)
		} else {
			rest = append(rest, n)
		}
	}
	if all.local != nil {
		all.others = o.node(KindBarrier, nil, r.Addr.String()+" (values)", nil)
		all.others.Resource = r
		o.after(all.others, rest...)
	}
	return all.local, all.others
}

// nodesIn returns the nodes that complete a resource, an instance of a resource, or a value within
// one module instance. n is the node that completes it in all module instances.
func (o *instanceOrder) nodesIn(n *Node, in addrs.ModuleInstance) []*Node {
	if part := o.g.Part(n, in); part != n {
		return []*Node{part}
	}
	if v, ok := n.Object.(*Value); ok {
		return []*Node{o.valueNode(v, in)}
	}
	r := n.Resource
	if o.moduleSteps[r] == nil {
		return []*Node{n}
	}
	if one, ok := n.Object.(*InstanceBarrier); ok {
		out := []*Node{o.g.Part(r.expand, in)}
		if one.key != addrs.NoKey {
			out = append(out, o.lastNode(r, r.Addr.Resource.InInstance(in).Instance(one.key)))
		}
		return out
	}
	p := o.stepsIn(r, in)
	if p.node == nil {
		p.node = o.node(KindResourceIn, nil, r.Addr.Resource.InInstance(in).String(), r.Node.Range)
		p.node.Resource, p.node.In = r, in
		o.after(p.node, o.g.Part(r.expand, in))
		for _, s := range p.steps {
			o.after(p.node, s.node)
		}
		o.passOrderIn(p.node, r, in)
		o.after(r.Node, p.node)
	}
	return []*Node{p.node}
}

// InstanceBarrier waits for the instances of a resource that have the same key, in all instances of
// its module. References with a constant key wait for it.
type InstanceBarrier struct {
	node  *Node
	key   addrs.InstanceKey // NoKey if the Barrier waits for other instances
	Steps map[addrs.ModuleInstance]*Step
}

// barrier returns the node that a reference with a constant key waits for: an InstanceBarrier, or
// the node of the resource if the run knows no instance with that key. connectBarriers makes it wait
// for instances that don't change.
func (o *instanceOrder) barrier(r *Resource, key addrs.InstanceKey) *Node {
	if s := r.Barriers[key]; s != nil {
		return s.node
	}
	steps := o.writersOf(r)[key]
	if len(steps) == 0 && len(o.idleOf(r)[key]) == 0 {
		return r.Node
	}
	s := &InstanceBarrier{
		node:  o.node(KindBarrier, nil, r.Addr.String()+key.String(), nil),
		key:   key,
		Steps: map[addrs.ModuleInstance]*Step{},
	}
	s.node.Resource, s.node.Object = r, s
	o.after(s.node, r.expand)
	for _, st := range steps {
		s.Steps[st.Change.Addr.Module] = st
		o.after(s.node, st.node)
	}
	if r.Barriers == nil {
		r.Barriers = map[addrs.InstanceKey]*InstanceBarrier{}
	}
	r.Barriers[key] = s
	return s.node
}

// indexedNode returns the node that a block waits for instead of r if it only reads instances of r
// by computed indexes. The Steps of the block wait for these instances themselves.
func (o *instanceOrder) indexedNode(r *Resource) *Node {
	if r.indexed == nil {
		r.indexed = o.node(KindBarrier, nil, r.Addr.String()+"[…]", nil)
		r.indexed.Resource, r.indexed.Object = r, &InstanceBarrier{node: r.indexed}
		o.after(r.indexed, r.expand)
	}
	return r.indexed
}

// connectReads makes a node wait for the instances that the block of r reads by computed indexes.
// The plan recorded these reads in change. The node also waits for the instances of module calls
// that the block reads.
func (o *instanceOrder) connectReads(n *Node, r *Resource, change *plans.InstanceChange) {
	for _, indexed := range r.Indexed {
		recorded := false
		for _, read := range change.Reads {
			if read.Resource != indexed.Name() {
				continue
			}
			recorded = true
			if read.Key != addrs.NoKey {
				o.after(n, o.instanceNode(indexed.Of, indexed.In(r.Module, change.Addr.Module), read.Key, r))
			}
		}
		if !recorded && indexed.Of != r {
			o.after(n, o.localNodes(indexed.whole(), r.Module, change.Addr.Module)...)
		}
	}
	o.connectCallReads(n, r.Inputs, change.Addr.Module, r.CallReads, func(read CallRead) ([]KeyRead, bool) {
		return o.earlyKeys().Read(r, change.Addr.Module, change.Addr.Key, read.keyed())
	})
}

// instanceNode returns the node after which an instance has its final value for a reader. If the run
// knows no such instance, this is the node that completes the resource. In that case, other
// instances of the same resource wait only until the instances are decided. reader may be nil.
func (o *instanceOrder) instanceNode(
	r *Resource, in addrs.ModuleInstance, key addrs.InstanceKey, reader *Resource,
) *Node {
	if n := o.lastNode(r, r.Addr.Resource.InInstance(in).Instance(key)); n != nil {
		return n
	}
	if reader == r {
		return o.g.Part(r.Inputs, in)
	}
	return o.g.Part(r.Node, in)
}

// applyStep returns the Step that creates or updates an instance, or nil if none exists.
func (o *instanceOrder) applyStep(r *Resource, addr addrs.AbsInstance) *Step {
	byAddr := o.stepsAt[r]
	if byAddr == nil {
		byAddr = make(map[addrs.AbsInstance]*Step, len(o.steps[r]))
		o.stepsAt[r] = byAddr
		for _, s := range o.steps[r] {
			if s.Part == stepApply {
				byAddr[s.Change.Addr] = s
			}
		}
	}
	return byAddr[addr]
}

// writersOf returns the Steps that create or update a resource's instances, by instance key.
func (o *instanceOrder) writersOf(r *Resource) map[addrs.InstanceKey][]*Step {
	byKey := o.writers[r]
	if byKey == nil {
		byKey = map[addrs.InstanceKey][]*Step{}
		o.writers[r] = byKey
		for _, s := range o.steps[r] {
			key := s.Change.Addr.Key
			if s.Part == stepApply {
				byKey[key] = append(byKey[key], s)
			}
		}
	}
	return byKey
}
