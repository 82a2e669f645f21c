package graph

import (
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/lang"
)

// How a plan waits for single places
//
// The nodes of a plan are blocks and values, and most of them work on all module instances at once.
// Where a reader needs only single instances of a resource or module call, planOrder makes it wait for
// these places; see placeReads. The readers are:
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
// The instances of calls, and the keys that values read, are evaluated before the walk (EarlyKeys).
// If they are not known then, the reader waits for the whole resource or call.

// planOrder makes readers in a plan wait for single places.
type planOrder struct {
	*build
	reads *placeReads
	nodes map[place]*Node                    // by place, its node; nil if nothing in the place has to be awaited
	whole []bool                             // by ID, whether a node must wait for everything it refers to; see readWhole
	apart map[*Module][]addrs.ModuleInstance // the calls that are apart, with their instances
	lists map[*Module]moduleList             // see instancesOf
	split map[*Node]bool                     // nodes between module instances that read each other
}

// moduleList holds the instances of a module call, if they are known before the walk.
type moduleList struct {
	all   []addrs.ModuleInstance
	known bool
}

// orderPlan makes readers in a plan wait for single places.
func (b *build) orderPlan() {
	o := &planOrder{build: b, nodes: map[place]*Node{}, apart: map[*Module][]addrs.ModuleInstance{},
		lists: map[*Module]moduleList{}, split: map[*Node]bool{}}
	for m, nodes := range b.between {
		o.apart[m] = o.instancesOf(m).all
		for _, n := range nodes {
			o.split[n] = true
		}
	}
	var values []*Value
	var resources []*Resource
	singly := b.op.ByInstance && !b.op.Partial() && b.op.Early != nil
	if singly {
		values, resources = o.findReaders()
	}
	if len(o.apart)+len(values)+len(resources) == 0 {
		return
	}
	o.reads = newPlaceReads(b, nil)
	o.reads.orders, o.reads.singly = true, singly
	o.connectAll(values, resources)
}

// findReaders returns the values and blocks that read single instances and have to wait for them. It
// sets the calls that are apart.
func (o *planOrder) findReaders() (values []*Value, resources []*Resource) {
	calls := o.chainedCalls()
	chained := make(map[*Module]bool, len(calls))
	for _, m := range calls {
		chained[m] = true
	}
	for _, v := range o.g.Values {
		if o.readsInstances(v, chained) {
			values = append(values, v)
		}
	}
	for _, r := range o.g.Resources {
		if len(r.CallReads) > 0 && r.mayAwaitCalls() && !r.Node.Dropped {
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
	values = slices.DeleteFunc(values, func(v *Value) bool { return o.whole[v.Node.ID] })
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
func (o *planOrder) connectAll(values []*Value, resources []*Resource) {
	o.splitAll()
	needs := map[*Node][]*Node{}
	for _, v := range values {
		if v.Module.repeated() == nil {
			needs[v.Node] = o.ofValue(place{n: v.Node, in: v.Module.Path.UnkeyedInstance()})
		}
	}
	for _, n := range slices.Clone(o.g.Nodes) { // the loop adds nodes
		if of := o.g.apart[n]; of != nil {
			o.connectApart(n, of)
		}
	}
	for n, list := range needs {
		o.g.Edges.Disconnect(n.ID)
		o.after(n, list...)
	}
	for _, path := range sortedModules(o.g.Modules) {
		m := o.g.Modules[path]
		if o.between[m] == nil {
			continue
		}
		for _, f := range o.siblingReads[m] {
			for _, in := range o.apart[m] {
				o.after(f.to.Node, o.node(place{n: f.to.Node, in: in}))
			}
		}
	}
	o.setOutputs(resources)
}

// chainedCalls returns the module calls that may wait for single instances of the object in their
// for_each: a resource, an alias of one, or another module call.
func (o *planOrder) chainedCalls() []*Module {
	usesEach := o.providersUseEach()
	var out []*Module
	for _, path := range sortedModules(o.g.Modules) {
		m := o.g.Modules[path]
		if call := m.ChainedCall(); call != nil {
			if !m.expand.Dropped && !usesEach[m] && len(o.siblingReads[m]) == 0 &&
				(m.DependsOn == nil || !m.DependsOn.NameCall(call.Call.Name)) && m.argumentsReadOnlyEach(call) {
				out = append(out, m)
			}
			continue
		}
		read := m.ChainedTo()
		if read == nil || !o.readable(read.Of) || m.expand.Dropped ||
			usesEach[m] || len(o.siblingReads[m]) > 0 || m.DependsOn != nil && read.namedBy(m.Parent, m.DependsOn) {
			continue
		}
		if read.Via == nil && read.Of.Schema.Block.ContainsDeprecated() { // a warning about the whole for_each
			continue
		}
		out = append(out, m)
	}
	return out
}

// readable reports whether values may read single instances of a resource before it is complete.
func (o *planOrder) readable(of *Resource) bool {
	return of.Config != nil && of.Config.Check == nil && of.Schema != nil && of.Exprs.Repetition.Repeats() &&
		!of.Node.Dropped && len(of.Node.Problems) == 0
}

// readsInstances reports whether a value reads single instances of a resource or module call.
// chained holds the calls that chainedCalls returns.
func (o *planOrder) readsInstances(v *Value, chained map[*Module]bool) bool {
	if v.Expr == nil || v.Node.Dropped || len(v.Node.Problems) > 0 || v.Kind == Output && v.Module.Parent == nil {
		return false
	}
	return len(v.CallReads) > 0 || len(o.resourcesRead(v)) > 0 || v.ReadsEachValue() && chained[v.Module]
}

// resourcesRead returns the resources and aliases that a value reads only by instance.
func (o *planOrder) resourcesRead(v *Value) []IndexedRead {
	return v.instancesRead(v.Module.EachOf, func(read IndexedRead) bool { return o.readable(read.Of) })
}

// readWhole returns, by node ID, whether a resource that waits for all changes depends on the node. These
// nodes must wait for everything they refer to, because only then are all changes known.
func (o *planOrder) readWhole() []bool {
	var ids []dag.ID
	for _, r := range o.g.Resources {
		if r.awaitsChanges() {
			ids = append(ids, r.Inputs.ID, r.Node.ID)
		}
	}
	return o.g.Edges.Reach(ids...)
}

// awaitsChanges reports whether the resource is a data source or ephemeral resource with depends_on or
// conditions. The plan reads it only if nothing that it depends on changes.
func (r *Resource) awaitsChanges() bool {
	if r.Config == nil || r.Addr.Resource.Mode == addrs.Managed {
		return false
	}
	dependsOn := r.Exprs.DependsOn != nil
	for m := r.Module; m != nil && !dependsOn; m = m.Parent {
		dependsOn = m.DependsOn != nil
	}
	return dependsOn || r.HasConditions()
}

// decideEarly lets a call whose for_each is a resource decide its instances before the resource is
// complete. The arguments that use each.value wait for the resource instead. If the for_each is
// another call, decideEarlyByCall does the work.
func (o *planOrder) decideEarly(m *Module) {
	if m.ChainedCall() != nil {
		o.decideEarlyByCall(m)
		return
	}
	read := m.ChainedTo()
	if o.whole[m.expand.ID] || !o.instancesOf(m).known {
		return
	}
	o.separate(read.Of)
	m.EachOf = read
	o.g.Edges.Remove(m.expand.ID, func(id dag.ID) bool { return id == read.whole().ID })
	o.after(m.expand, read.Of.Inputs)
	o.after(m.expand, read.expansions()...)
	for _, v := range m.Variables {
		if v.ReadsEachValue() {
			o.after(v.Node, read.whole())
		}
	}
}

// instancesOf returns the instances of a module call, if they are known before the walk.
func (o *planOrder) instancesOf(m *Module) moduleList {
	out, found := o.lists[m]
	if !found {
		out.all, out.known = o.earlyKeys().ModuleInstances(m)
		o.lists[m] = out
	}
	return out
}

// repeated returns the innermost call with count, for_each or enabled that contains a module or calls
// it. It returns nil if no such call exists.
func (m *Module) repeated() *Module {
	for ; m != nil && m.Parent != nil; m = m.Parent {
		if m.Repetition != (Repetition{}) {
			return m
		}
	}
	return nil
}

// setApart separates the resources of which a value reads single instances, and makes the calls apart
// that it reads or feeds singly.
func (o *planOrder) setApart(v *Value) {
	reads := o.resourcesRead(v)
	for _, read := range reads {
		o.separate(read.Of)
	}
	single := len(reads) > 0
	for _, read := range v.CallReads {
		if read.Call != v.Module { // otherwise the instances of the call read each other
			single = true
			o.addApart(read.Call)
		}
	}
	if v.Kind == Variable && single {
		o.addApart(v.Module)
	}
}

// addApart makes the innermost repeated call that is m, or contains it, apart if its instances are known.
func (o *planOrder) addApart(m *Module) {
	if m = m.repeated(); m != nil && o.instancesOf(m).known {
		o.apart[m] = o.instancesOf(m).all
	}
}

// in returns the address of the only instance of m that is, or is inside, a given module instance.
// at is the address of this module instance, and call is its module: m or a module that contains m.
// The calls from there down to m have a single instance each.
func (m *Module) in(at addrs.ModuleInstance, call *Module) addrs.ModuleInstance {
	if m == call {
		return at
	}
	return m.Parent.in(at, call).Child(m.Call.Name, addrs.NoKey)
}

// mayAwaitCalls reports whether the instances of a block may wait for single instances of module
// calls. They can't if the block refers to its own instances by keys that depend on a module call,
// because these keys decide the order of the instances. Data sources and ephemeral resources with
// conditions can't wait either, because they depend on whether anything that they refer to changes.
func (r *Resource) mayAwaitCalls() bool {
	if r.Addr.Resource.Mode != addrs.Managed && r.HasConditions() {
		return false
	}
	names := func(refs *lang.Refs) bool {
		return slices.ContainsFunc(refs.Objects, func(ref *addrs.Reference) bool {
			_, _, ok := lang.ModuleSubject(ref.Subject)
			return ok
		})
	}
	for _, own := range r.Exprs.ownInstances(r.Addr.Resource) {
		if own.DependsOn(names) {
			return false
		}
	}
	return true
}

// awaitCalls makes the instances of a block wait for the module instances that they read. The block
// itself waits for the whole calls when it completes.
func (o *planOrder) awaitCalls(r *Resource) {
	outputs := map[dag.ID]bool{}
	for i, read := range r.CallReads {
		if !o.instancesOf(read.Call).known {
			continue
		}
		o.addApart(read.Call)
		r.CallReads[i].Whole = false
		if r.EachCall == nil && read.ByEach() && read.Call == r.ChainedCall() {
			r.EachCall = r.eachCall()
			for _, output := range read.Call.Outputs {
				outputs[output.Node.ID] = true
			}
		}
		for _, output := range read.Outputs() {
			outputs[output.Node.ID] = true
		}
		outputs[read.Call.end.ID] = true
		if read.Via != nil {
			outputs[read.Via.Node.ID] = true
			o.after(r.Inputs, read.Call.expand)
		}
	}
	if len(outputs) == 0 {
		return
	}
	o.separate(r)
	for _, id := range o.g.Edges.Needs(r.Inputs.ID) {
		if outputs[id] {
			o.after(r.Node, o.g.Nodes[id])
		}
	}
	o.g.Edges.Remove(r.Inputs.ID, func(id dag.ID) bool { return outputs[id] })
}

// callOf returns the call by whose instances the nodes of a module are split, or nil. It is the innermost
// one that is apart, or one around it whose instances read each other.
func (o *planOrder) callOf(m *Module) *Module {
	var out *Module
	for ; m != nil && m.Parent != nil; m = m.Parent {
		if o.apart[m] != nil && (out == nil || o.between[m] != nil) {
			out = m
		}
	}
	return out
}

// splitAll adds the nodes of the blocks in calls that are apart.
func (o *planOrder) splitAll() {
	for _, n := range slices.Clone(o.g.Nodes) {
		if !n.Kind.IsResource() && n.Kind != KindModule {
			continue
		}
		if call := o.callOf(n.Module); call != nil && o.splits(n) {
			o.addApartNodes(n, call)
		}
	}
}

// splits reports whether a node in a call that is apart is split.
func (o *planOrder) splits(n *Node) bool {
	r := n.Resource
	switch {
	case o.split[n] || r != nil && o.split[r.Node]:
		return true
	case r == nil:
		return !n.Dropped && len(n.Problems) == 0
	}
	return r.Config != nil && r.Config.Check == nil && !r.Node.Dropped && len(r.Node.Problems) == 0 &&
		!r.awaitsChanges()
}

// apartNodes are the nodes that do the work of another node, each in one instance of a module call.
type apartNodes struct {
	depth int // number of steps in the addresses of the instances
	all   []*Node
	in    map[addrs.ModuleInstance]*Node
}

func (o *planOrder) addApartNodes(n *Node, call *Module) {
	of := &apartNodes{depth: len(call.Path.Names()), in: map[addrs.ModuleInstance]*Node{}}
	o.g.apart[n] = of
	for _, in := range o.apart[call] {
		one := o.build.node(n.Kind, n.Module, in.String()+strings.TrimPrefix(n.Name, call.Path.String()), n.Range)
		one.Resource, one.Object, one.In = n.Resource, n.Object, in
		one.Problems, one.Dropped = n.Problems, n.Dropped
		of.all, of.in[in] = append(of.all, one), one
	}
}

// connectApart makes the nodes that do the work of n wait for what n needs, each in its module instance.
func (o *planOrder) connectApart(n *Node, of *apartNodes) {
	for _, need := range o.needs(n) {
		depth := sharedDepth(n.Module, need.Module)
		for _, one := range of.all {
			o.after(one, o.node(place{n: need, in: outermost(one.In, depth)}))
		}
	}
	o.after(n, of.all...)
	if r := n.Resource; r != nil && n == r.Inputs {
		for read := range r.Singly() {
			for _, one := range of.all {
				if read.Via != nil {
					o.setFinal(read.Via, one.In)
				}
			}
		}
	}
}

// node returns the node after which everything in a place is final, or nil if nothing there has to be
// awaited.
func (o *planOrder) node(p place) *Node {
	switch {
	case p.n.Resource != nil && p.part == onePart:
		return o.instance(p.n.Resource, p.in, p.key)
	case p.n.Kind == KindModule && p.part == onePart:
		p.in, _ = p.in.Parent()
		return o.g.NodeIn(p.n, p.in)
	case p.n.Kind != KindValue && !p.n.closesModule():
		return o.g.NodeIn(p.n, p.in)
	}
	n, known := o.nodes[p]
	if known {
		return n
	}
	o.nodes[p] = nil
	switch {
	case p.part == allParts && !o.selects(p):
		n = p.n
	case p.n.Dropped:
	case len(p.n.Problems) > 0:
		n = o.build.node(KindPlace, nil, p.name(), p.n.Range)
		n.Problems = p.n.Problems
	default:
		n = o.join(p, o.ofValue(p))
	}
	o.nodes[p] = n
	return n
}

// selects reports whether a place is in one instance of the call by which its node's module is split.
func (o *planOrder) selects(p place) bool {
	call := o.callOf(p.n.Module)
	return call != nil && len(p.in.Steps()) >= len(call.Path.Names())
}

// ofValue returns the nodes that a value, or everything in a module, needs in a place. They decide the
// instances of what it reads, even where it selects none of them.
func (o *planOrder) ofValue(p place) []*Node {
	var out []*Node
	for _, read := range o.reads.of(p) {
		out = append(out, o.node(read.of))
	}
	v, ok := p.n.Object.(*Value)
	if !ok || p.part != allParts {
		return out
	}
	from := v.evaluatedIn(p.in)
	if o.reads.singly {
		for _, read := range o.resourcesRead(v) {
			out = append(out, o.g.NodeIn(read.Of.Inputs, read.In(v.evaluatedBy(), from)))
			out = append(out, read.expansions()...)
		}
	}
	for _, read := range v.CallReads {
		if read.Call == v.Module {
			continue
		}
		out = append(out, o.g.NodeIn(read.Call.expand, from))
		if o.selectsNone(v, p.in, read) { // a local that is the call is then evaluated as a whole
			for _, output := range read.Outputs() {
				out = append(out, o.node(place{n: output.Node, in: from}))
			}
		}
	}
	return out
}

// selectsNone reports whether a value in a module instance reads an instance of a call that doesn't exist.
func (o *planOrder) selectsNone(v *Value, in addrs.ModuleInstance, read CallRead) bool {
	keys, _ := o.reads.readValue(v, in, read.keyed())
	return slices.ContainsFunc(keys, func(k KeyRead) bool {
		return !o.reads.isInstance(read.Call, v.evaluatedIn(in).Child(read.Call.Call.Name, k.Key))
	})
}

// instance returns the node that stands for an instance of a resource. It returns the node of all
// instances if the resource is not separated.
func (o *planOrder) instance(r *Resource, in addrs.ModuleInstance, key addrs.InstanceKey) *Node {
	if r.Inputs == r.Node {
		return o.g.NodeIn(r.Node, in)
	}
	byModule := o.g.instances[r]
	if byModule == nil {
		byModule = map[addrs.ModuleInstance]map[addrs.InstanceKey]*Node{}
		o.g.instances[r] = byModule
	}
	if byModule[in] == nil {
		byModule[in] = map[addrs.InstanceKey]*Node{}
	}
	n := byModule[in][key]
	if n == nil {
		addr := r.Addr.Resource.InInstance(in).Instance(key)
		n = o.build.node(KindPlace, nil, addr.String()+" (read)", r.Node.Range)
		n.Object = addr
		o.after(n, o.g.NodeIn(r.Inputs, in))
		byModule[in][key] = n
	}
	return n
}

// setFinal sets the node after which a value is final in a module instance; see Graph.Final.
func (o *planOrder) setFinal(v *Value, in addrs.ModuleInstance) {
	p := place{n: v.Node, in: in}
	o.g.finals[p] = o.node(p)
}

// setOutputs sets the nodes of the outputs that the instances of blocks read from single module
// instances, and of these outputs in all instances of a call.
func (o *planOrder) setOutputs(readers []*Resource) {
	done := map[*Value]bool{}
	for _, r := range readers {
		for read := range r.CallsSingly() {
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
func (g *Graph) NodeIn(n *Node, in addrs.ModuleInstance) *Node {
	if of := g.apart[n]; of != nil {
		if one := of.in[outermost(in, of.depth)]; one != nil {
			return one
		}
	}
	return n
}

// Apart returns the nodes that do the work of n in single module instances, if it is split.
func (g *Graph) Apart(n *Node) []*Node {
	if of := g.apart[n]; of != nil {
		return of.all
	}
	return nil
}

// Final returns the node after which a value is final in a module instance: in one of its own module or,
// for all that are within it, one that contains these. It is nil if nothing has to be awaited.
func (g *Graph) Final(v *Value, in addrs.ModuleInstance) *Node {
	for ; ; in, _ = in.Parent() {
		if n, known := g.finals[place{n: v.Node, in: in}]; known {
			return n
		}
		if in.IsRoot() {
			return v.Node
		}
	}
}

// Instances returns the nodes that stand for instances of a resource in one module instance, by key.
// They wait for the vertices of these instances.
func (g *Graph) Instances(r *Resource, in addrs.ModuleInstance) map[addrs.InstanceKey]*Node {
	return g.instances[r][in]
}
