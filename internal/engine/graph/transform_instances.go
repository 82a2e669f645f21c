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
// is done. An instance that does not change has a Barrier instead of a Step. The Barrier waits for
// the instances that this instance reads. So the order passes through it, as it does through
// resources that don't change.
//
// The Steps of an ephemeral resource open its objects. They wait like the Steps that change
// objects, but the plan has no changes for them; see addOpenings.
//
// All other references wait for the resource as a whole. So do references with a constant key if
// the instance does not change, and references with an index that was unknown to the plan.
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
			if len(b.steps[r]) > 0 {
				b.instances.connectSteps(r)
			}
		}
		return nil
	},
}

// instanceOrder makes Steps wait for the instances that they need. It is part of build because the
// transformers Changes and Reference fill in its fields.
type instanceOrder struct {
	*build
	writers        map[*Resource]map[addrs.InstanceKey][]*Step         // see writersOf
	stepsAt        map[*Resource]map[addrs.AbsInstance]*Step           // see applyStep
	unchanged      map[addrs.AbsInstance]*Node                         // see instanceNode
	moduleSteps    map[*Resource]map[addrs.ModuleInstance]*moduleSteps // see separateExpansion
	spread         map[*Module]stepSpread
	keyed          map[*Module]bool   // module calls whose single instances are read
	keyedResources map[*Resource]bool // resources whose single instances another block reads by a computed index
	idle           map[*Resource]bool // resources with planned instances that don't change

	// These fields are for values; see value_instances.go.
	early    EarlyKeys // nil until the first call of earlyKeys
	carrying map[*Value]bool
	values   map[valueIn]*Node
}

func newInstanceOrder(b *build) *instanceOrder {
	return &instanceOrder{
		build:          b,
		writers:        map[*Resource]map[addrs.InstanceKey][]*Step{},
		stepsAt:        map[*Resource]map[addrs.AbsInstance]*Step{},
		unchanged:      map[addrs.AbsInstance]*Node{},
		moduleSteps:    map[*Resource]map[addrs.ModuleInstance]*moduleSteps{},
		spread:         map[*Module]stepSpread{},
		keyed:          map[*Module]bool{},
		keyedResources: map[*Resource]bool{},
		idle:           map[*Resource]bool{},
		carrying:       map[*Value]bool{},
		values:         map[valueIn]*Node{},
	}
}

// stepSpread describes which instances of a module have Steps that create or update, in the module
// itself or in modules that it calls. If several is true, the instances need nodes of their own,
// because several of them have Steps or something reads single instances.
type stepSpread struct {
	last    addrs.ModuleInstance // one of the instances with Steps
	several bool
}

// noteSteps records that a module instance, and so each module instance that contains it, has Steps
// that create or update. in is an instance of m.
func (o *instanceOrder) noteSteps(m *Module, in addrs.ModuleInstance) {
	for ; m != nil; m = m.Parent {
		known, ok := o.spread[m]
		if ok && known.last == in {
			return
		}
		o.spread[m] = stepSpread{last: in, several: known.several || ok || o.keyedAround(m)}
		in, _ = in.Parent()
	}
}

// hasSteps reports whether there are Steps that create or update in a module or in one that it calls.
func (o *instanceOrder) hasSteps(m *Module) bool {
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

// moduleSteps holds the Steps of a resource within one module instance.
type moduleSteps struct {
	steps []*Step
	open  *Node // Barrier that the Steps wait for
	node  *Node // completes the resource in the module instance; nil until first used
}

// separateExpansion adds a node that decides the instances of a resource without waiting for
// everything that its block refers to. It does so if several instances of the module have Steps, or
// if other blocks read single instances.
func (o *instanceOrder) separateExpansion(r *Resource) {
	several := o.spread[r.Module].several
	if r.Config.Check != nil || !several && !o.keyedResources[r] || len(o.steps[r]) == 0 {
		return
	}
	r.expand = o.node(KindExpand, r.Module, r.Inputs.Name, r.Inputs.Range)
	r.expand.Resource = r
	r.Inputs.Kind, r.Inputs.Name = KindBarrier, r.Addr.String()+" (needs)"
	if !several {
		return
	}
	o.moduleSteps[r] = map[addrs.ModuleInstance]*moduleSteps{}
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
	byModule := o.moduleSteps[r]
	if byModule[in] == nil {
		byModule[in] = &moduleSteps{}
	}
	return byModule[in]
}

// connectSteps makes the Steps that create or update wait for the references of the block, and the
// resource wait for these Steps.
func (o *instanceOrder) connectSteps(r *Resource) {
	local, others := o.localNeeds(r)
	if o.idle[r] { // the order must pass through instances without Steps too
		for _, indexed := range r.Indexed {
			o.after(r.Node, indexed.whole())
		}
		for _, edge := range o.later[r.Inputs] {
			o.after(r.Node, edge.to)
		}
	}
	completed := map[*Node]bool{}
	for _, s := range o.steps[r] {
		if s.Part != stepApply {
			continue
		}
		o.after(r.Node, s.node)
		o.connectReads(s.node, r, s.Change)
		in := s.Change.Addr.Module
		o.awaitEach(s.node, r.Module, in)
		if part := o.g.Part(r.Node, in); part != r.Node {
			if r.Inputs.Split && !completed[part] { // the Steps wait for the inputs, so a path through them is enough
				completed[part] = true
				o.g.Edges.Remove(part.ID, func(id dag.ID) bool { return id == o.g.Part(r.Inputs, in).ID })
			}
			o.after(part, s.node)
		}
		if local == nil || r.Inputs.Split {
			o.after(s.node, o.g.Part(r.Inputs, in))
			continue
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
		o.after(s.node, p.open)
	}
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
// instance, and a Barrier that waits for its other needs. Both results are nil if all Steps of the
// resource have the same needs.
func (o *instanceOrder) localNeeds(r *Resource) (local []*Node, others *Node) {
	if o.moduleSteps[r] == nil {
		return nil, nil
	}
	var rest []*Node
	for _, id := range o.g.Edges.Needs(r.Inputs.ID) {
		if n := o.g.Nodes[id]; n.completes() || o.local(n, r.Module, false) {
			local = append(local, n)
		} else {
			rest = append(rest, n)
		}
	}
	if local != nil {
		others = o.node(KindBarrier, nil, r.Addr.String()+" (values)", nil)
		others.Resource = r
		o.after(others, rest...)
	}
	return local, others
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
		if s := one.Steps[in]; s != nil {
			out = append(out, s.node)
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
		o.after(r.Node, p.node)
	}
	return []*Node{p.node}
}

// InstanceBarrier waits for the instances of a resource that have the same key, in all instances of
// its module. References with a constant key wait for it.
type InstanceBarrier struct {
	node  *Node
	Steps map[addrs.ModuleInstance]*Step
}

// barrier returns the node that a reference with a constant key waits for: an InstanceBarrier, or
// the node of the resource if no instance with that key changes.
func (o *instanceOrder) barrier(r *Resource, key addrs.InstanceKey) *Node {
	if s := r.Barriers[key]; s != nil {
		return s.node
	}
	steps := o.writersOf(r)[key]
	if len(steps) == 0 {
		return r.Node
	}
	s := &InstanceBarrier{
		node:  o.node(KindBarrier, nil, r.Addr.String()+key.String(), nil),
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

// instanceNode returns the node after which an instance has its final value for a reader. If the
// plan has no change for the instance, this is the node that completes the resource. In that case,
// other instances of the same resource wait only until the instances are decided. reader may be
// nil.
func (o *instanceOrder) instanceNode(
	r *Resource, in addrs.ModuleInstance, key addrs.InstanceKey, reader *Resource,
) *Node {
	addr := r.Addr.Resource.InInstance(in).Instance(key)
	if s := o.applyStep(r, addr); s != nil {
		return s.node
	}
	if n := o.unchanged[addr]; n != nil {
		return n
	}
	change := o.op.Plan.Changes.Instance(addr, addrs.NotDeposed)
	switch {
	case change == nil && reader == r:
		return o.g.Part(r.Inputs, in)
	case change == nil:
		return o.g.Part(r.Node, in)
	}
	n := o.node(KindBarrier, nil, addr.String()+" (unchanged)", nil)
	n.Resource, n.Object = r, change
	o.unchanged[addr] = n
	if o.moduleSteps[r] == nil {
		o.after(n, o.g.Part(r.Inputs, in))
	}
	o.after(n, o.g.Part(r.expand, in))
	o.connectReads(n, r, change)
	return n
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
