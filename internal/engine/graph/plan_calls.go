package graph

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// How a plan waits for instances of modules
//
// Between modules, two kinds of readers need only single instances: a value, usually an argument of
// a module call, that reads a[each.key], and a block or value that reads module.m[each.key].out. The
// nodes in the called module that depend on such an argument, or that such an output depends on, get
// a Part for each instance of the call (see splitCall). A Part waits for Parts of the same module
// instance. The readers wait as follows:
//
//   - A value that reads single instances of a resource waits until the instances of that resource
//     are decided. The walk then holds it back until these instances are planned (Resource.ReadBy).
//   - A value that reads outputs of single module instances waits for the Parts of these outputs.
//   - The instances of a block that reads such outputs wait for these Parts (Resource.AwaitedCalls).
//
// The instances of calls, and the keys that values read, are evaluated before the walk (EarlyKeys).
// If they are not known then, the reader waits for the whole resource or call.

// planCalls makes readers wait for single instances of module calls and, in values, of resources.
type planCalls struct {
	*build
	whole  []bool                     // by ID, whether a node must wait for everything it refers to; see readWhole
	reads  map[*Value][]IndexedRead   // by value, the resources that it reads only by instance
	splits map[*Module]*splitCall     // by module call; nil for a call whose instances are not known
	seeds  map[*Module]map[*Node]bool // by module call, the arguments and outputs between which nodes are split
}

// separateCalls makes the readers in a plan wait for single instances of module calls.
func (b *build) separateCalls() {
	p := &planCalls{build: b, reads: map[*Value][]IndexedRead{}, splits: map[*Module]*splitCall{},
		seeds: map[*Module]map[*Node]bool{}}
	calls := p.chainedCalls()
	chained := make(map[*Module]bool, len(calls))
	for _, m := range calls {
		chained[m] = true
	}
	var values []*Value
	var resources []*Resource
	for _, v := range b.g.Values {
		if p.readsInstances(v, chained) {
			values = append(values, v)
		}
	}
	for _, r := range b.g.Resources {
		if len(r.CallReads) > 0 && r.mayAwaitCalls() && !r.Node.Dropped && !r.Node.Split {
			resources = append(resources, r)
		}
	}
	if len(calls)+len(values)+len(resources) == 0 {
		return
	}
	p.whole = p.readWhole()
	for _, m := range calls {
		p.decideEarly(m)
	}
	values = slices.DeleteFunc(values, func(v *Value) bool { return p.whole[v.Node.ID] })
	for _, v := range values {
		p.seedValue(v)
	}
	for _, r := range resources {
		p.awaitCalls(r)
	}
	p.splitAll()
	for _, v := range values {
		p.connectReader(v)
	}
}

// chainedCalls returns the module calls that may wait for single instances of the object in their
// for_each: a resource, an alias of one, or another module call.
func (p *planCalls) chainedCalls() []*Module {
	usesEach := p.providersUseEach()
	var out []*Module
	for _, path := range sortedModules(p.g.Modules) {
		m := p.g.Modules[path]
		if call := m.ChainedCall(); call != nil {
			if !m.expand.Split && !m.expand.Dropped && !usesEach[m] && len(p.siblingReads[m]) == 0 &&
				(m.DependsOn == nil || !m.DependsOn.NameCall(call.Call.Name)) && m.argumentsReadOnlyEach(call) {
				out = append(out, m)
			}
			continue
		}
		read := m.ChainedTo()
		if read == nil || !p.readable(read.Of) || read.whole().Split || m.expand.Split || m.expand.Dropped ||
			usesEach[m] || len(p.siblingReads[m]) > 0 || m.DependsOn != nil && read.namedBy(m.Parent, m.DependsOn) {
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
func (p *planCalls) readable(of *Resource) bool {
	return of.Config != nil && of.Config.Check == nil && of.Schema != nil && of.Exprs.Repetition.Repeats() &&
		!of.Node.Split && !of.Node.Dropped && len(of.Node.Problems) == 0
}

// readsInstances reports whether a value reads single instances of a resource or module call.
// chained holds the calls that chainedCalls returns.
func (p *planCalls) readsInstances(v *Value, chained map[*Module]bool) bool {
	if v.Expr == nil || v.Node.Dropped || len(v.Node.Problems) > 0 || v.Kind == Output && v.Module.Parent == nil {
		return false
	}
	return len(v.CallReads) > 0 || len(p.resourcesRead(v)) > 0 || v.ReadsEachValue() && chained[v.Module]
}

// resourcesRead returns the resources and aliases that a value reads only by instance.
func (p *planCalls) resourcesRead(v *Value) []IndexedRead {
	return v.instancesRead(v.Module.EachOf, func(read IndexedRead) bool {
		return p.readable(read.Of) && (read.Via == nil || !read.Via.Node.Split)
	})
}

// readWhole returns, by node ID, whether a data source or ephemeral resource with depends_on or
// conditions depends on the node. The plan reads such a resource only if nothing that it depends on
// changes. So these nodes must wait for everything they refer to, because only then are all changes
// known.
func (p *planCalls) readWhole() []bool {
	var ids []dag.ID
	for _, r := range p.g.Resources {
		if r.Config == nil || r.Addr.Resource.Mode == addrs.Managed {
			continue
		}
		dependsOn := r.Exprs.DependsOn != nil
		for m := r.Module; m != nil && !dependsOn; m = m.Parent {
			dependsOn = m.DependsOn != nil
		}
		if dependsOn || r.HasConditions() {
			ids = append(ids, r.Inputs.ID, r.Node.ID)
		}
	}
	return p.g.Edges.Reach(ids...)
}

// decideEarly lets a call whose for_each is a resource decide its instances before the resource is
// complete. The arguments that use each.value wait for the resource instead. If the for_each is
// another call, decideEarlyByCall does the work.
func (p *planCalls) decideEarly(m *Module) {
	if m.ChainedCall() != nil {
		p.decideEarlyByCall(m)
		return
	}
	read := m.ChainedTo()
	if p.whole[m.expand.ID] || p.callOf(m) == nil {
		return
	}
	p.separate(read.Of)
	m.EachOf = read
	p.g.Edges.Remove(m.expand.ID, func(id dag.ID) bool { return id == read.whole().ID })
	p.after(m.expand, read.Of.Inputs)
	p.after(m.expand, read.expansions()...)
	for _, v := range m.Variables {
		if v.ReadsEachValue() {
			p.after(v.Node, read.whole())
		}
	}
}

// callOf returns the split call of m with its instances, or nil if the instances are not known.
func (p *planCalls) callOf(m *Module) *splitCall {
	r, found := p.splits[m]
	if !found {
		if list, known := p.earlyKeys().ModuleInstances(m); known {
			r = newSplitCall(m, list)
		}
		p.splits[m] = r
	}
	return r
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

// in returns the address of the only instance of m that is, or is inside, a given module instance.
// at is the address of this module instance, and call is its module: m or a module that contains m.
// The calls from there down to m have a single instance each.
func (m *Module) in(at addrs.ModuleInstance, call *Module) addrs.ModuleInstance {
	if m == call {
		return at
	}
	return m.Parent.in(at, call).Child(m.Call.Name, addrs.NoKey)
}

// seed records that the nodes that depend on an argument, or that an output depends on, are to be
// split.
func (p *planCalls) seed(v *Value) {
	m := v.Module.repeated()
	if m == nil || p.callOf(m) == nil {
		return
	}
	if p.seeds[m] == nil {
		p.seeds[m] = map[*Node]bool{}
	}
	p.seeds[m][v.Node] = true
}

// seedValue finds the resources and outputs that a value reads only by instance. It seeds these
// outputs and, if the value is an argument, the value itself.
func (p *planCalls) seedValue(v *Value) {
	p.reads[v] = p.resourcesRead(v)
	for _, read := range p.reads[v] {
		p.separate(read.Of)
	}
	reads := len(p.reads[v]) > 0
	for _, read := range v.CallReads {
		if read.Call == v.Module { // the instances of the call read each other
			continue
		}
		reads = true
		for _, output := range read.Outputs() {
			p.seed(output)
		}
	}
	if v.Kind == Variable && reads {
		p.seed(v)
	}
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

// AwaitsCall reports whether the instances of a block wait for single instances of a module call in a
// plan. It returns false if r is nil.
func (r *Resource) AwaitsCall(call *Module) bool {
	return r != nil && slices.ContainsFunc(r.AwaitedCalls, func(read CallRead) bool { return read.Call == call })
}

// awaitCalls makes the instances of a block wait for the module instances that they read. The block
// itself waits for the whole calls when it completes.
func (p *planCalls) awaitCalls(r *Resource) {
	outputs := map[dag.ID]bool{}
	for _, read := range r.CallReads {
		if p.callOf(read.Call) == nil {
			continue
		}
		r.AwaitedCalls = append(r.AwaitedCalls, read)
		if r.EachCall == nil && read.ByEach() && read.Call == r.ChainedCall() {
			r.EachCall = r.eachCall()
			for _, output := range read.Call.Outputs {
				outputs[output.Node.ID] = true
			}
		}
		for _, output := range read.Outputs() {
			outputs[output.Node.ID] = true
			p.seed(output)
		}
		outputs[read.Call.end.ID] = true
		if read.Via != nil {
			outputs[read.Via.Node.ID] = true
			p.after(r.Inputs, read.Call.expand)
		}
	}
	if len(r.AwaitedCalls) == 0 {
		return
	}
	p.separate(r)
	for _, id := range p.g.Edges.Needs(r.Inputs.ID) {
		if outputs[id] {
			p.after(r.Node, p.g.Nodes[id])
		}
	}
	p.g.Edges.Remove(r.Inputs.ID, func(id dag.ID) bool { return outputs[id] })
}

// splitAll splits the nodes between the seeds. A node in nested calls is split by the innermost one.
func (p *planCalls) splitAll() {
	calls := sortedModules(p.g.Modules)
	dependents := p.g.Edges.Dependents()
	var nodes []*Node
	for _, path := range slices.Backward(calls) { // a module comes after the one that contains it
		m := p.g.Modules[path]
		if len(p.seeds[m]) == 0 {
			continue
		}
		r := p.splits[m]
		for _, n := range p.between(m, dependents) {
			p.addParts(r, n)
			nodes = append(nodes, n)
		}
	}
	for _, n := range nodes {
		p.connectParts(p.g.splitCalls[n], n)
	}
}

// between returns the nodes in the module of a call, and in the modules that it calls, that depend
// on seeded arguments or that seeded outputs depend on. If a resource has two nodes, it returns both or
// neither, because one of them completes what the other begins.
func (p *planCalls) between(m *Module, dependents [][]dag.ID) []*Node {
	split := func(id dag.ID) bool {
		n := p.g.Nodes[id]
		of := n.Module
		if n.Resource != nil {
			of, id = n.Resource.Module, n.Resource.Node.ID
		}
		return (n.Kind == KindValue || n.Kind == KindModule || n.Kind == KindExpand || n.Kind == KindResource) &&
			m.Path.Contains(of.Path) && !n.Dropped && len(n.Problems) == 0 && !p.whole[id]
	}
	var arguments, outputs []dag.ID
	for n := range p.seeds[m] {
		switch v := n.Object.(*Value); {
		case !split(n.ID):
		case v.Kind == Variable:
			arguments = append(arguments, n.ID)
		default:
			outputs = append(outputs, n.ID)
		}
	}
	found := map[dag.ID]bool{}
	reach := func(from []dag.ID, next func(dag.ID) []dag.ID) {
		for id := range dag.Reachable(from, func(id dag.ID) []dag.ID {
			return slices.DeleteFunc(slices.Clone(next(id)), func(id dag.ID) bool { return !split(id) })
		}) {
			found[id] = true
		}
	}
	reach(outputs, p.g.Edges.Needs)
	reach(arguments, func(id dag.ID) []dag.ID { return dependents[id] })
	nodes := map[*Node]bool{}
	for id := range found {
		n := p.g.Nodes[id]
		nodes[n] = true
		if r := n.Resource; r != nil {
			nodes[r.Inputs], nodes[r.Node] = true, true
		}
	}
	out := slices.DeleteFunc(slices.Collect(maps.Keys(nodes)), func(n *Node) bool { return n.Split })
	slices.SortFunc(out, func(a, b *Node) int { return int(a.ID - b.ID) })
	return out
}

// awaited returns the nodes of the resources and calls that a value reads only by instance. The
// value waits only for the instances that it reads.
func (p *planCalls) awaited(v *Value) map[*Node]bool {
	out := map[*Node]bool{}
	for _, read := range p.reads[v] {
		out[read.whole()] = true
	}
	for _, read := range v.CallReads {
		if p.callOf(read.Call) == nil || read.Call == v.Module {
			continue
		}
		for _, output := range read.Outputs() {
			out[output.Node] = true
		}
		out[read.Call.end] = true
		if read.Via != nil {
			out[read.Via.Node] = true
		}
	}
	return out
}

// connectReader makes the nodes that evaluate a value wait for the instances that it reads. It does
// nothing unless each of these nodes evaluates the value in exactly one known module instance.
func (p *planCalls) connectReader(v *Value) {
	switch r := p.g.splitCalls[v.Node]; {
	case r != nil && r.knowsPlace(v):
		for i, part := range r.parts[v.Node] {
			p.connectReads(v, part, r.place(v, i))
		}
	case r == nil && v.Module.repeated() == nil:
		p.connectReads(v, v.Node, v.Module.Path.UnkeyedInstance())
	}
}

// connectReads makes the node n, which evaluates a value in one module instance, wait for
// everything that the value reads there.
func (p *planCalls) connectReads(v *Value, n *Node, in addrs.ModuleInstance) {
	awaited := p.awaited(v)
	p.g.Edges.Remove(n.ID, func(id dag.ID) bool {
		need := p.g.Nodes[id]
		if need.Kind == KindPart && (need.Resource != nil || need.Object.(*Node).isLocal()) {
			need = need.Object.(*Node)
		}
		return awaited[need]
	})
	from, early := v.evaluatedIn(in), p.earlyKeys()
	for _, read := range p.reads[v] {
		keys, known := early.ReadValue(v, in, read.keyed())
		if !known {
			p.after(n, p.g.Part(read.whole(), from))
			continue
		}
		at := read.In(v.evaluatedBy(), from)
		p.after(n, p.g.Part(read.Of.Inputs, at))
		p.after(n, read.expansions()...)
		v.awaitKeys(n, in, read, at, keys)
	}
	for _, read := range v.CallReads {
		if p.callOf(read.Call) == nil || read.Call == v.Module {
			continue
		}
		p.after(n, p.g.Part(read.Call.expand, from))
		keys, known := early.ReadValue(v, in, read.keyed())
		for _, output := range read.Outputs() {
			if !known {
				p.after(n, p.g.Part(output.Node, from))
				continue
			}
			for _, k := range keys {
				p.after(n, p.g.Part(output.Node, from.Child(read.Call.Call.Name, k.Key)))
			}
		}
	}
}

// awaitKeys records that n reads the instances of a resource with the given keys. n evaluates v. in
// is the module instance of v, and at is that of the resource. The walk visits n after these
// instances are planned; see Resource.ReadBy.
func (v *Value) awaitKeys(n *Node, in addrs.ModuleInstance, read IndexedRead, at addrs.ModuleInstance, keys []KeyRead) {
	if v.Reads == nil {
		v.Reads = map[addrs.ModuleInstance][]plans.InstanceRead{}
	}
	if len(keys) == 0 {
		keys = []KeyRead{{Key: addrs.NoKey}}
	}
	of := read.Of
	if of.ReadBy == nil {
		of.ReadBy = map[addrs.ModuleInstance]map[addrs.InstanceKey][]*Node{}
	}
	if of.ReadBy[at] == nil {
		of.ReadBy[at] = map[addrs.InstanceKey][]*Node{}
	}
	for _, k := range keys {
		v.Reads[in] = append(v.Reads[in], plans.InstanceRead{Resource: read.Name(), Key: k.Key})
		if k.Key != addrs.NoKey {
			of.ReadBy[at][k.Key] = append(of.ReadBy[at][k.Key], n)
		}
	}
}
