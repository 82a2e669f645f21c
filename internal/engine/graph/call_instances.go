package graph

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// How an apply waits for instances of modules
//
// A reference such as module.m[each.key].out needs the output of only one instance of the call. It
// is evaluated even if another instance fails. The keys are evaluated before the walk (EarlyKeys).
// If they are known at that time, a Step, an argument or another value waits for the node of the
// output in that module instance (value_instances.go), and so for the resource instances that the
// output depends on. In all other cases, it waits for all instances.
//
// A block also has a node that waits for everything that the block refers to (Resource.Inputs). If
// the instances wait for single instances of a call, that node doesn't wait for the call. Its edge
// to the call is in build.later instead of the graph. The search for the dependencies that the state
// records follows both kinds of edges, so the recorded dependencies are the same in either case.

// CallRead describes which outputs an expression or a block reads from single instances of a module
// call.
type CallRead struct {
	Call   *Module
	Output *Value // nil for all outputs
	Via    *Value // the local by which the call is read, or nil; see call_alias.go
	Refs   lang.Instances
}

// Keyed holds the references to single instances of one resource or module call.
type Keyed struct {
	Refs lang.Instances
	Of   Keys
}

// Keys are the repetition arguments of a resource or module call, which decide the keys of its
// instances.
type Keys struct {
	Repetition
	In *Module // the module that has the block
}

// Keys returns what decides the keys of a resource's instances.
func (r *Resource) Keys() Keys { return Keys{r.Exprs.Repetition, r.Module} }

// CallKeys returns what decides the keys of the instances of a module call.
func (m *Module) CallKeys() Keys { return Keys{m.Repetition, m.Parent} }

func (r IndexedRead) keyed() Keyed { return Keyed{r.Refs, r.Of.Keys()} }
func (r CallRead) keyed() Keyed    { return Keyed{r.Refs, r.Call.CallKeys()} }

// Outputs returns the outputs that are read from each instance.
func (r CallRead) Outputs() []*Value {
	if r.Output != nil {
		return []*Value{r.Output}
	}
	names := slices.Sorted(maps.Keys(r.Call.Outputs))
	out := make([]*Value, len(names))
	for i, name := range names {
		out[i] = r.Call.Outputs[name]
	}
	return out
}

// laterEdge is an edge that is left out of the graph because only Steps or values in single
// instances wait for its target, or because its value waits only for single instances of the target.
type laterEdge struct {
	call *Module // the call whose reference makes the edge; nil for a reference to a resource or an alias
	to   *Node
}

// addCallReads appends to list the reads of module calls that an expression in the module reads
// only by instance, and returns the list.
func (m *Module) addCallReads(list []CallRead, refs *lang.Refs) []CallRead {
	for name, of := range refs.InstanceCalls() {
		child := m.Calls[name]
		if child == nil || !child.Repetition.Repeats() {
			continue
		}
		for _, ref := range of {
			output := child.Outputs[ref.Output]
			at := slices.IndexFunc(list, func(r CallRead) bool { return r.Call == child && r.Output == output })
			if at < 0 {
				at, list = len(list), append(list, CallRead{Call: child, Output: output})
			}
			list[at].Refs = append(list[at].Refs, ref)
		}
	}
	return list
}

// setCallReads sets the module calls that a block reads only by instance. It leaves out calls that are
// also read outside of the block's instances, for example by for_each or an import block.
func (b *build) setCallReads(r *Resource) {
	chained, via := r.Module.chainedCall(r.Exprs.Repetition)
	if via != nil && (!b.awaitsVia() || r.Exprs.ownInstances(r.Addr.Resource) != nil) {
		chained = nil
	}
	list := b.readsByCallAlias(r)
	if !r.Exprs.readsCalls && chained == nil && list == nil || r.Config.Check != nil {
		return
	}
	whole := map[*Module]bool{}
	except := func(refs *lang.Refs) {
		for _, ref := range refs.Objects {
			if call, _, ok := lang.ModuleSubject(ref.Subject); ok {
				whole[r.Module.Calls[call.Name]] = true
			}
			if v := r.Module.valueOf(ref.Subject); v != nil {
				whole[chained] = whole[chained] || v == via
				list = slices.DeleteFunc(list, func(read CallRead) bool { return read.Via == v })
			}
		}
	}
	var eachOf *lang.Refs // set if for_each is only a module call, or a local that is one
	if chained != nil {
		list, eachOf = append(list, r.eachCall().reads...), &r.Exprs.Repetition.ForEach.Refs
	}
	for unit := range r.Exprs.units() {
		if unit == eachOf {
			continue
		}
		list = r.Module.addCallReads(list, unit)
		for _, ref := range unit.Objects {
			if call, _, ok := lang.ModuleSubject(ref.Subject); ok {
				if _, only := unit.CallInstances(call.Name); !only {
					whole[r.Module.Calls[call.Name]] = true
				}
			}
			if via != nil && ref.Subject == (addrs.LocalValue{Name: via.Name}) {
				whole[chained] = true
			}
		}
	}
	if list == nil {
		return
	}
	for _, refs := range r.Exprs.Repetition.Refs() {
		if refs != eachOf {
			except(refs)
		}
	}
	for _, t := range b.g.Imports[r] {
		for _, e := range t.Exprs() {
			except(&e.Refs)
		}
	}
	if r.Exprs.PreventDestroy != nil {
		except(&r.Exprs.PreventDestroy.Refs)
	}
	if r.ProviderKey != nil && r.ProviderKey.Module == r.Module {
		except(&r.ProviderKey.Expr.Refs)
	}
	if r.Exprs.DependsOn != nil {
		except(r.Exprs.DependsOn)
	}
	r.CallReads = slices.DeleteFunc(list, func(read CallRead) bool { return whole[read.Call] })
	b.noteKeyed(r.CallReads)
}

// setValueReads sets the module calls that an argument or another value reads only by instance.
func (b *build) setValueReads(v *Value) {
	b.addChainedCall(v)
	b.addReadsVia(v)
	if v.differs() {
		b.instances.keyed[v.Module] = true // even if only one instance has Steps
	}
	if v.Expr == nil || !v.Expr.Refs.ReadsCalls() && v.CallReads == nil || v.Output != nil && v.Output.DependsOn != nil {
		return
	}
	m := v.Module
	if v.Kind == Variable {
		m = m.Parent
	}
	v.CallReads = m.addCallReads(v.CallReads, &v.Expr.Refs)
	for _, rule := range v.Conditions {
		for _, refs := range []*lang.Refs{&rule.Condition.Refs, &rule.Message.Refs} {
			for _, ref := range refs.Objects {
				if call, _, ok := lang.ModuleSubject(ref.Subject); ok && v.Kind != Variable {
					whole := m.Calls[call.Name]
					v.CallReads = slices.DeleteFunc(v.CallReads, func(r CallRead) bool { return r.Call == whole })
				}
			}
		}
	}
	b.noteKeyed(v.CallReads)
	computed := func(read CallRead) bool { return read.Refs.Computed() }
	if v.evaluatedPerInstance() && slices.ContainsFunc(v.CallReads, computed) {
		b.instances.keyed[v.Module] = true
	}
}

// evaluatedPerInstance reports whether the result of a value may differ between the instances of its
// module.
func (v *Value) evaluatedPerInstance() bool {
	if v.Kind == Variable {
		return v.PerInstance
	}
	return v.Module.repeated() != nil
}

// differs reports whether a value reads single instances of a resource by keys that may differ between
// the instances of its module.
func (v *Value) differs() bool {
	switch {
	case !v.evaluatedPerInstance():
		return false
	case v.Kind == Variable && v.ReadsEachValue() && v.Module.ChainedTo() != nil:
		return true
	case !v.Expr.Refs.ReadsComputed():
		return false
	}
	m := v.evaluatedBy()
	for _, ref := range v.Expr.Refs.Objects {
		if of := m.ResourceOf(ref.Subject); of != nil {
			if refs, only := v.Expr.Refs.ByInstance(of.Addr.Resource); only && refs.Computed() {
				return true
			}
		}
	}
	return slices.ContainsFunc(v.aliasReads(), func(read IndexedRead) bool { return read.Refs.Computed() })
}

// noteKeyed records the calls in list as calls whose single instances are read.
func (b *build) noteKeyed(list []CallRead) {
	for _, read := range list {
		b.instances.keyed[read.Call] = true
	}
}

// readsKeyed reports whether n doesn't wait for a call as a whole, because single instances of the
// call are awaited instead. This can be true only in an apply, and only for nodes of values and
// module calls and for the Inputs node of a block.
func (b *build) readsKeyed(n *Node, call *Module) bool {
	if b.op.Phase != PhaseApply || b.op.Early == nil || !b.instances.hasInstances(call) {
		return false
	}
	reads := func(list []CallRead) bool {
		return slices.ContainsFunc(list, func(read CallRead) bool { return read.Call == call })
	}
	switch of := n.Object.(type) {
	case *Value:
		return reads(of.CallReads)
	case *Module:
		return of.EachCall != nil && of.EachCall.Call == call
	}
	r := n.Resource
	return r != nil && n == r.Inputs && b.ordered(r) && reads(r.CallReads)
}

// connectCalls makes the nodes of values wait for the outputs of module calls that they read. A
// value that is evaluated in one module instance waits for the instances that it reads. Any other
// value waits for all instances.
func (o *instanceOrder) connectCalls() {
	for _, v := range o.g.Values {
		if !o.readsCallsByKey(v) {
			continue
		}
		if in, single := v.Module.singleInstance(); single {
			o.connectValueReads(v.Node, v, in)
			continue
		}
		nodes := []*Node{v.Node}
		if r := o.g.splitCalls[v.Node]; r != nil && r.knowsPlace(v) {
			for i, part := range r.parts[v.Node] {
				o.connectValueReads(part, v, r.place(v, i))
			}
		} else if r != nil {
			nodes = append(nodes, r.parts[v.Node]...)
		}
		for _, edge := range o.later[v.Node] {
			for _, n := range nodes {
				if edge.call != nil {
					o.after(n, edge.to)
				}
			}
		}
	}
}

// connectValueReads makes the node of a value in a module instance wait for the instances of module
// calls that the value reads. It skips siblings of that instance, because Parts already wait for
// them.
func (o *instanceOrder) connectValueReads(n *Node, v *Value, in addrs.ModuleInstance) {
	list := v.CallReads
	if v.Node.Split {
		list = slices.DeleteFunc(slices.Clone(list), func(read CallRead) bool { return read.Call == v.Module })
	}
	o.connectCallReads(n, v.Node, v.evaluatedIn(in), list, func(read CallRead) ([]KeyRead, bool) {
		return o.earlyKeys().ReadValue(v, in, read.keyed())
	})
}

// connectCallReads makes a node in a module instance wait for the instances of module calls that it
// reads. If keys returns false for a read, the node waits for the whole call. needs is the node
// that has the later edges. keys evaluates the keys of a read.
func (o *instanceOrder) connectCallReads(
	n, needs *Node, in addrs.ModuleInstance, list []CallRead, keys func(CallRead) ([]KeyRead, bool),
) {
	if len(o.later[needs]) == 0 {
		return
	}
	whole := map[*Module]bool{}
	for _, read := range list {
		if whole[read.Call] || !o.hasInstances(read.Call) {
			continue
		}
		found, known := keys(read)
		if !known {
			whole[read.Call] = true
			continue
		}
		for _, k := range found {
			for _, v := range read.Outputs() {
				o.after(n, o.valueNode(v, in.Child(read.Call.Call.Name, k.Key)))
			}
		}
	}
	for _, edge := range o.later[needs] {
		if whole[edge.call] {
			o.after(n, edge.to)
		}
	}
}

// singleInstance returns the address of the only instance of a module. It returns false if the
// module's call, or a call around it, is repeated.
func (m *Module) singleInstance() (addrs.ModuleInstance, bool) {
	for at := m; at.Parent != nil; at = at.Parent {
		if at.Repetition != (Repetition{}) {
			return "", false
		}
	}
	return m.Path.UnkeyedInstance(), true
}
