package graph

import (
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
)

// How a plan waits for single places
//
// The nodes of a plan are blocks and values, and most of them work on all module instances at once.
// Where a reader needs only single instances of a resource or module call, planOrder makes it wait for
// these places; see reads.Places. The readers are:
//
//   - A value that reads a[each.key] or module.m[each.key].out. It is usually an argument of a module
//     call. If its module has one instance, its node waits for the places that it reads.
//   - A block whose instances read module.m[each.key].out. Each instance waits for the places that
//     this output reads in that module instance; see Graph.Final.
//
// If the outputs of a call are read or its arguments are fed this way, the call is apart: each of the
// resources in it, and each module call in it, has a node for each instance of the call (Node.In), and
// these nodes wait for places too. The node of the block itself comes after them and does what is left,
// such as planning to delete instances that are no longer declared. What reads the block or the module
// as a whole waits for that node.
//
// An instance of a resource gets a vertex only during the walk, when the instances of the resource are
// decided. If a value reads it singly, a node stands for it: it waits for the vertex, and the readers
// wait for it; see Graph.Instances.
//
// The instances of calls, and the keys that values read, are evaluated before the walk (KnownKeys).
// If they are not known then, the reader waits for the whole resource or call.

// planOrder makes readers in a plan wait for single places.
type planOrder struct {
	b      *build
	reads  *reads.Places
	singly bool                                     // whether blocks and values wait for single instances; if not, only siblings are ordered
	nodes  map[reads.Place]*reads.Node              // by place, its node; nil if nothing in the place has to be awaited
	whole  []bool                                   // by ID, whether a node must wait for everything it refers to; see readWhole
	apart  map[*reads.Module][]addrs.ModuleInstance // the calls that are apart, with their instances
	lists  map[*reads.Module]moduleList             // see instancesOf
	split  map[*reads.Node]bool                     // nodes between module instances that read each other
}

// moduleList holds the instances of a module call, if they are known before the walk.
type moduleList struct {
	all   []addrs.ModuleInstance
	known bool
}

// orderPlan makes readers in a plan wait for single places.
func (b *build) orderPlan() {
	o := &planOrder{b: b, nodes: map[reads.Place]*reads.Node{}, apart: map[*reads.Module][]addrs.ModuleInstance{},
		lists: map[*reads.Module]moduleList{}, split: map[*reads.Node]bool{}}
	for m, nodes := range b.between {
		o.apart[m] = o.instancesOf(m).all
		for _, n := range nodes {
			o.split[n] = true
		}
	}
	var values []*reads.Value
	var resources []*reads.Resource
	singly := b.op.ByInstance && !b.op.Partial() && b.op.Early != nil
	if singly {
		values, resources = o.findReaders()
	}
	if len(o.apart)+len(values)+len(resources) == 0 {
		return
	}
	o.reads, o.singly = b.source().Ordering(singly), singly
	o.connectAll(values, resources)
}

// findReaders returns the values and blocks that read single instances and have to wait for them. It
// sets the calls that are apart.
func (o *planOrder) findReaders() (values []*reads.Value, resources []*reads.Resource) {
	calls := o.chainedCalls()
	chained := make(map[*reads.Module]bool, len(calls))
	for _, m := range calls {
		chained[m] = true
	}
	for _, v := range o.b.g.Values {
		if o.readsInstances(v, chained) {
			values = append(values, v)
		}
	}
	for _, r := range o.b.g.Resources {
		if r.Calls() != nil && r.MayAwaitCalls() && !r.Node.Dropped {
			resources = append(resources, r)
		}
	}
	if len(calls)+len(values)+len(resources) == 0 {
		return nil, nil
	}
	o.whole = o.readWhole()
	for _, m := range calls {
		o.decideEarly(m)
	}
	values = slices.DeleteFunc(values, func(v *reads.Value) bool { return o.whole[v.Node.ID] })
	for _, v := range values {
		o.setApart(v)
	}
	for _, r := range resources {
		o.awaitCalls(r)
	}
	return values, resources
}

// connectAll makes nodes wait for places: those of the calls that are apart, of values that read single
// instances, and of arguments that read other instances of their call.
func (o *planOrder) connectAll(values []*reads.Value, resources []*reads.Resource) {
	o.splitAll()
	needs := map[*reads.Node][]*reads.Node{}
	for _, v := range values {
		if v.Module.RepeatedBy() == nil {
			needs[v.Node] = o.ofValue(reads.Place{Node: v.Node, In: v.Module.Path.UnkeyedInstance()})
		}
	}
	for _, n := range slices.Clone(o.b.g.Nodes) { // the loop adds nodes
		if of := o.b.g.apart[n]; of != nil {
			o.connectApart(n, of)
		}
	}
	for n, list := range needs {
		o.b.g.Edges.Disconnect(n.ID)
		o.b.after(n, list...)
	}
	for _, path := range sortedModules(o.b.g.Modules) {
		m := o.b.g.Modules[path]
		if o.b.between[m] == nil {
			continue
		}
		for _, f := range o.b.g.Siblings[m] {
			for _, in := range o.apart[m] {
				o.b.after(f.To.Node, o.node(reads.Place{Node: f.To.Node, In: in}))
			}
		}
	}
	o.setOutputs(resources)
}

// chainedCalls returns the module calls that may wait for single instances of the object in their
// for_each: a resource, an alias of one, or another module call.
func (o *planOrder) chainedCalls() []*reads.Module {
	usesEach := o.b.providersUseEach()
	var out []*reads.Module
	for _, path := range sortedModules(o.b.g.Modules) {
		m := o.b.g.Modules[path]
		read := m.ChainedTo()
		switch {
		case read == nil, m.Expand.Dropped, usesEach[m], len(o.b.g.Siblings[m]) > 0,
			m.DependsOn != nil && read.NamedBy(m.Parent, m.DependsOn):
			continue
		case read.Call != nil && !m.ArgumentsReadOnlyEach(read.Call):
			continue
		case read.Call == nil && (!read.Of.Readable() ||
			read.Via == nil && read.Of.Schema.Block.ContainsDeprecated()): // a warning about the whole for_each
			continue
		}
		out = append(out, m)
	}
	return out
}

// readsInstances reports whether a value reads single instances of a resource or module call.
// chained holds the calls that chainedCalls returns.
func (o *planOrder) readsInstances(v *reads.Value, chained map[*reads.Module]bool) bool {
	if v.Expr == nil || v.Node.Dropped || len(v.Node.Problems) > 0 || v.Kind == reads.Output && v.Module.Parent == nil {
		return false
	}
	return len(v.CallReads) > 0 || len(v.ReadsInPlan()) > 0 || v.ReadsEachValue() && chained[v.Module]
}

// readWhole returns, by node ID, whether a resource that waits for all changes depends on the node. These
// nodes must wait for everything they refer to, because only then are all changes known.
func (o *planOrder) readWhole() []bool {
	var ids []dag.ID
	for _, r := range o.b.g.Resources {
		if r.AwaitsChanges() {
			ids = append(ids, r.Inputs.ID, r.Node.ID)
		}
	}
	return o.b.g.Edges.Reach(ids...)
}

// decideEarly lets a call whose for_each is an object decide its instances before the object is complete.
// The arguments that use each.value wait for what they read of the object instead.
func (o *planOrder) decideEarly(m *reads.Module) {
	each := m.FindEach()
	if o.whole[m.Expand.ID] || !o.instancesOf(m).known || each.Call != nil && !o.instancesOf(each.Call).known {
		return
	}
	m.Each = each
	awaited := map[dag.ID]bool{each.WholeNode().ID: true}
	if each.Call != nil {
		o.addOutputs(awaited, each.KeyedRead)
	} else {
		o.b.separate(each.Of)
		o.b.after(m.Expand, each.Of.Inputs)
	}
	o.b.g.Edges.Remove(m.Expand.ID, func(id dag.ID) bool { return awaited[id] })
	o.b.after(m.Expand, each.Expansions()...)
	for _, v := range m.Variables {
		switch {
		case !v.ReadsEachValue():
		case each.Call == nil:
			o.b.after(v.Node, each.WholeNode())
		default:
			for _, read := range v.EachCall.Reads {
				for _, output := range read.Outputs() {
					o.b.after(v.Node, output.Node)
				}
			}
		}
	}
}

// addOutputs adds to set the nodes that a reader of a whole module call waits for: those of the outputs that
// are read and the end of the call.
func (o *planOrder) addOutputs(set map[dag.ID]bool, read reads.KeyedRead) {
	set[read.Call.End.ID] = true
	for _, output := range read.Outputs() {
		set[output.Node.ID] = true
	}
}

// instancesOf returns the instances of a module call, if they are known before the walk.
func (o *planOrder) instancesOf(m *reads.Module) moduleList {
	out, found := o.lists[m]
	if !found {
		out.all, out.known = o.b.earlyKeys().ModuleInstances(m)
		o.lists[m] = out
	}
	return out
}

// setApart separates the resources of which a value reads single instances, and makes the calls apart
// that it reads or feeds singly.
func (o *planOrder) setApart(v *reads.Value) {
	single := false
	for _, read := range v.ReadsInPlan() {
		single = true
		o.b.separate(read.Of)
	}
	for _, read := range v.CallReads {
		if read.Call != v.Module { // otherwise the instances of the call read each other
			single = true
			o.addApart(read.Call)
		}
	}
	if v.Kind == reads.Variable && single {
		o.addApart(v.Module)
	}
}

// addApart makes the innermost repeated call that is m, or contains it, apart if its instances are known.
func (o *planOrder) addApart(m *reads.Module) {
	if m = m.RepeatedBy(); m != nil && o.instancesOf(m).known {
		o.apart[m] = o.instancesOf(m).all
	}
}

// awaitCalls makes the instances of a block wait for the module instances that they read. The block
// itself waits for the whole calls when it completes.
func (o *planOrder) awaitCalls(r *reads.Resource) {
	outputs := map[dag.ID]bool{}
	for i, read := range r.Calls() {
		if !o.instancesOf(read.Call).known {
			continue
		}
		o.addApart(read.Call)
		r.Calls()[i].Whole = false
		if each := r.FindEach(); r.Each == nil && read.ByEach() && each != nil && read.Call == each.Call {
			r.Each = each
			o.addOutputs(outputs, each.KeyedRead)
		}
		o.addOutputs(outputs, read)
		outputs[read.WholeNode().ID] = true
		o.b.after(r.Inputs, read.Expansions()...)
	}
	if len(outputs) == 0 {
		return
	}
	o.b.separate(r)
	for _, id := range o.b.g.Edges.Needs(r.Inputs.ID) {
		if outputs[id] {
			o.b.after(r.Node, o.b.g.Nodes[id])
		}
	}
	o.b.g.Edges.Remove(r.Inputs.ID, func(id dag.ID) bool { return outputs[id] })
}

// callOf returns the call by whose instances the nodes of a module are split, or nil. It is the innermost
// one that is apart, or one around it whose instances read each other.
func (o *planOrder) callOf(m *reads.Module) *reads.Module {
	var out *reads.Module
	for ; m != nil && m.Parent != nil; m = m.Parent {
		if o.apart[m] != nil && (out == nil || o.b.between[m] != nil) {
			out = m
		}
	}
	return out
}

// splitAll adds the nodes of the blocks in calls that are apart.
func (o *planOrder) splitAll() {
	for _, n := range slices.Clone(o.b.g.Nodes) {
		if !n.Kind.IsResource() && n.Kind != reads.KindModule {
			continue
		}
		if call := o.callOf(n.Module); call != nil && o.splits(n) {
			o.addApartNodes(n, call)
		}
	}
}

// splits reports whether a node in a call that is apart is split.
func (o *planOrder) splits(n *reads.Node) bool {
	r := n.Resource
	switch {
	case o.split[n] || r != nil && o.split[r.Node]:
		return true
	case r == nil:
		return !n.Dropped && len(n.Problems) == 0
	}
	return r.Config != nil && r.Config.Check == nil && !r.Node.Dropped && len(r.Node.Problems) == 0 &&
		!r.AwaitsChanges()
}

// apartNodes are the nodes that do the work of another node, each in one instance of a module call.
type apartNodes struct {
	depth int // number of steps in the addresses of the instances
	all   []*reads.Node
	in    map[addrs.ModuleInstance]*reads.Node
}

func (o *planOrder) addApartNodes(n *reads.Node, call *reads.Module) {
	of := &apartNodes{depth: len(call.Path.Names()), in: map[addrs.ModuleInstance]*reads.Node{}}
	o.b.g.apart[n] = of
	for _, in := range o.apart[call] {
		one := o.b.node(n.Kind, n.Module, in.String()+strings.TrimPrefix(n.Name, call.Path.String()), n.Range)
		one.Resource, one.Object, one.In = n.Resource, n.Object, in
		one.Problems, one.Dropped = n.Problems, n.Dropped
		of.all, of.in[in] = append(of.all, one), one
	}
}

// connectApart makes the nodes that do the work of n wait for what n needs, each in its module instance.
func (o *planOrder) connectApart(n *reads.Node, of *apartNodes) {
	for _, need := range o.b.needs(n) {
		depth := reads.SharedDepth(n.Module, need.Module)
		for _, one := range of.all {
			o.b.after(one, o.node(reads.Place{Node: need, In: reads.Outermost(one.In, depth)}))
		}
	}
	o.b.after(n, of.all...)
	if r := n.Resource; r != nil && n == r.Inputs {
		for read := range r.Singly() {
			for _, one := range of.all {
				if read.Call == nil && read.Via != nil {
					o.setFinal(read.Via, one.In)
				}
			}
		}
	}
}

// node returns the node after which everything in a place is final, or nil if nothing there has to be
// awaited.
func (o *planOrder) node(p reads.Place) *reads.Node {
	switch {
	case p.Node.Resource != nil && p.Part == reads.OnePart:
		return o.instance(p.Node.Resource, p.In, p.Key)
	case p.Node.Kind == reads.KindModule && p.Part == reads.OnePart:
		p.In, _ = p.In.Parent()
		return o.b.g.NodeIn(p.Node, p.In)
	case p.Node.Kind != reads.KindValue && !p.Node.ClosesModule():
		return o.b.g.NodeIn(p.Node, p.In)
	}
	n, known := o.nodes[p]
	if known {
		return n
	}
	o.nodes[p] = nil
	switch {
	case p.Part == reads.AllParts && !o.selects(p):
		n = p.Node
	case p.Node.Dropped:
	case len(p.Node.Problems) > 0:
		n = o.b.node(reads.KindPlace, nil, p.Name(), p.Node.Range)
		n.Problems = p.Node.Problems
	default:
		n = o.b.join(p, o.ofValue(p))
	}
	o.nodes[p] = n
	return n
}

// selects reports whether a place is in one instance of the call by which its node's module is split.
func (o *planOrder) selects(p reads.Place) bool {
	call := o.callOf(p.Node.Module)
	return call != nil && len(p.In.Steps()) >= len(call.Path.Names())
}

// ofValue returns the nodes that a value, or everything in a module, needs in a place. They decide the
// instances of what it reads, even where it selects none of them.
func (o *planOrder) ofValue(p reads.Place) []*reads.Node {
	var out []*reads.Node
	for _, read := range o.reads.Reads(p) {
		out = append(out, o.node(read.Of))
	}
	v := p.Node.Value()
	if v == nil || p.Part != reads.AllParts {
		return out
	}
	from := v.EvaluatedIn(p.In)
	if o.singly {
		for _, read := range v.ReadsInPlan() {
			out = append(out, o.b.g.NodeIn(read.Of.Inputs, read.In(v.EvaluatedBy(), from)))
			out = append(out, read.Expansions()...)
		}
	}
	for _, read := range v.CallReads {
		if read.Call == v.Module {
			continue
		}
		out = append(out, o.b.g.NodeIn(read.Call.Expand, from))
		if o.selectsNone(v, p.In, read) { // a local that is the call is then evaluated as a whole
			for _, output := range read.Outputs() {
				out = append(out, o.node(reads.Place{Node: output.Node, In: from}))
			}
		}
	}
	return out
}

// selectsNone reports whether a value in a module instance reads an instance of a call that doesn't exist.
func (o *planOrder) selectsNone(v *reads.Value, in addrs.ModuleInstance, read reads.KeyedRead) bool {
	keys, _ := o.reads.ReadValue(v, in, read)
	return slices.ContainsFunc(keys, func(k reads.KeyRead) bool {
		return !o.reads.IsInstance(read.Call, v.EvaluatedIn(in).Child(read.Call.Call.Name, k.Key))
	})
}

// instance returns the node that stands for an instance of a resource. It returns the node of all
// instances if the resource is not separated.
func (o *planOrder) instance(r *reads.Resource, in addrs.ModuleInstance, key addrs.InstanceKey) *reads.Node {
	if r.Inputs == r.Node {
		return o.b.g.NodeIn(r.Node, in)
	}
	byModule := o.b.g.instances[r]
	if byModule == nil {
		byModule = map[addrs.ModuleInstance]map[addrs.InstanceKey]*reads.Node{}
		o.b.g.instances[r] = byModule
	}
	if byModule[in] == nil {
		byModule[in] = map[addrs.InstanceKey]*reads.Node{}
	}
	n := byModule[in][key]
	if n == nil {
		addr := r.Addr.Resource.InInstance(in).Instance(key)
		n = o.b.node(reads.KindPlace, nil, addr.String()+" (read)", r.Node.Range)
		n.Object = reads.InstanceObject{AbsInstance: addr}
		o.b.after(n, o.b.g.NodeIn(r.Inputs, in))
		byModule[in][key] = n
	}
	return n
}

// setFinal sets the node after which a value is final in a module instance; see Graph.Final.
func (o *planOrder) setFinal(v *reads.Value, in addrs.ModuleInstance) {
	p := reads.Place{Node: v.Node, In: in}
	o.b.g.finals[p] = o.node(p)
}

// setOutputs sets the nodes of the outputs that the instances of blocks read from single module
// instances, and of these outputs in all instances of a call.
func (o *planOrder) setOutputs(readers []*reads.Resource) {
	done := map[*reads.Value]bool{}
	for _, r := range readers {
		for read := range r.Singly() {
			for _, output := range read.Outputs() {
				if done[output] {
					continue
				}
				done[output] = true
				for _, in := range o.instancesOf(read.Call).all {
					caller, _ := in.Parent()
					o.setFinal(output, in)
					o.setFinal(output, caller)
				}
			}
		}
	}
}

// NodeIn returns the node that does the work of n in a module instance: n itself unless it is split.
func (g *Graph) NodeIn(n *reads.Node, in addrs.ModuleInstance) *reads.Node {
	if of := g.apart[n]; of != nil {
		if one := of.in[reads.Outermost(in, of.depth)]; one != nil {
			return one
		}
	}
	return n
}

// Apart returns the nodes that do the work of n in single module instances, if it is split.
func (g *Graph) Apart(n *reads.Node) []*reads.Node {
	if of := g.apart[n]; of != nil {
		return of.all
	}
	return nil
}

// Final returns the node after which a value is final in a module instance: in one of its own module or,
// for all that are within it, one that contains these. It is nil if nothing has to be awaited.
func (g *Graph) Final(v *reads.Value, in addrs.ModuleInstance) *reads.Node {
	for ; ; in, _ = in.Parent() {
		if n, known := g.finals[reads.Place{Node: v.Node, In: in}]; known {
			return n
		}
		if in.IsRoot() {
			return v.Node
		}
	}
}

// Instances returns the nodes that stand for instances of a resource in one module instance, by key.
// They wait for the vertices of these instances.
func (g *Graph) Instances(r *reads.Resource, in addrs.ModuleInstance) map[addrs.InstanceKey]*reads.Node {
	return g.instances[r][in]
}
