package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/plans"
)

// Values evaluated by instance
//
// Normally, one node evaluates a value for all instances of its module. If a module has several
// instances, and a value connects one resource of the module with another, each of these instances
// gets a node that evaluates the value there. So module.m[0].b waits only for module.m[0].a, even if
// the reference goes through locals, outputs of modules or arguments of their calls. Likewise, if an
// argument of a call is a[each.key].id, an instance of the called module waits only for the instance
// of a that has its key. The value's own node evaluates it for all other instances of the module,
// after these nodes. If there is only one place in which to evaluate a value such as
// [for k in var.keys : a[k].id], its own node waits for these instances.

// valueIn identifies a value in one module instance.
type valueIn struct {
	v  *Value
	in addrs.ModuleInstance
}

// carries reports whether the readers of a value depend, through the value, on resources in their
// own module instance, or on single instances of a resource or of a module call.
func (o *instanceOrder) carries(v *Value) bool {
	if known, ok := o.carrying[v]; ok {
		return known
	}
	o.carrying[v] = false // ends the recursion, as the graph may still have cycles
	byKey := o.readsCallsByKey(v)
	if !byKey && len(o.readsByKey(v)) > 0 {
		_, one := v.onlyPlace()
		byKey = !one // otherwise the value's own node waits for the instances
	}
	out := byKey || slices.ContainsFunc(o.g.Edges.Needs(v.Node.ID), func(id dag.ID) bool {
		return o.local(o.g.Nodes[id], v.Module, v.Kind == Variable)
	})
	o.carrying[v] = out
	return out
}

// readsCallsByKey reports whether a value waits for single instances of a module call.
func (o *instanceOrder) readsCallsByKey(v *Value) bool {
	return slices.ContainsFunc(o.later[v.Node], func(edge laterEdge) bool { return edge.call != nil })
}

// local reports whether something in module m that depends on n needs only the part of n that
// belongs to the same instance of m. n is the node of a resource or a value. argument says that the
// dependent is an argument of the call of m, which is evaluated in the calling module.
func (o *instanceOrder) local(n *Node, m *Module, argument bool) bool {
	if n.completes() {
		return o.moduleSteps[n.Resource] != nil && o.shared(n.Resource.Module, m, argument)
	}
	return n.Kind == KindValue && o.shared(n.Module, m, argument) && o.carries(n.Object.(*Value))
}

// shared reports whether an instance of module m needs only one instance of another module: the
// same instance, the calling instance, or the only instance of a call.
func (o *instanceOrder) shared(other, m *Module, argument bool) bool {
	switch {
	case other == nil || !o.spread[other].several:
		return false
	case argument:
		return other == m.Parent
	}
	return other == m || other.Parent == m && other.Repetition == Repetition{}
}

// localNodes returns the nodes after which n is final for an instance of m. n belongs to m, to the
// module that calls m, or to a module that m calls without repetition.
func (o *instanceOrder) localNodes(n *Node, m *Module, in addrs.ModuleInstance) []*Node {
	other := n.Module
	if n.completes() {
		other = n.Resource.Module
	}
	switch other {
	case m:
	case m.Parent:
		in, _ = in.Parent()
	default:
		in = in.Child(other.Call.Name, addrs.NoKey)
	}
	return o.nodesIn(n, in)
}

// readsByKey returns the resources and aliases that a value reads only by instance, using at least one
// computed key. It returns nil if a value is evaluated once for several instances of its module,
// because a node for each of them would cost a read in each of them.
func (o *instanceOrder) readsByKey(v *Value) []IndexedRead {
	if o.op.Phase != PhaseApply || o.op.Early == nil || v.Expr == nil || !v.Expr.Refs.ReadsComputed() &&
		(v.Module.EachOf == nil || !v.PerInstance) {
		return nil
	}
	if v.Kind == Variable && !v.PerInstance && v.Module.Repetition.Repeats() {
		if _, one := v.onlyPlace(); !one {
			return nil
		}
	}
	return v.instancesRead(v.Module.EachOf, func(read IndexedRead) bool {
		of := read.Of
		return of.Config != nil && of.Config.Check == nil && o.ordered(of) && read.Refs.Computed() &&
			(read.Via == nil || !o.op.Partial())
	})
}

// onlyPlace returns the module instance in which a value is evaluated. It returns false if there may be
// several, or if the result differs between the instances of a module call.
func (v *Value) onlyPlace() (addrs.ModuleInstance, bool) {
	m := v.evaluatedBy()
	if m == nil || v.PerInstance && v.Module.Repetition.Repeats() {
		return "", false
	}
	return m.singleInstance()
}

// awaitReads makes the node of a value that is evaluated in a single module instance wait only for the
// instances that the value reads. It waits for whole resources where the keys are not known.
func (o *instanceOrder) awaitReads(v *Value) {
	reads := o.readsByKey(v)
	if len(reads) == 0 || v.Node.Split {
		return
	}
	from, one := v.onlyPlace()
	if !one {
		return
	}
	in := from
	if v.Kind == Variable {
		in = from.Child(v.Module.Call.Name, addrs.NoKey)
	}
	for _, read := range reads {
		keys, known := o.earlyKeys().ReadValue(v, in, read.keyed())
		if !known {
			continue
		}
		whole := read.whole()
		o.g.Edges.Remove(v.Node.ID, func(id dag.ID) bool { return id == whole.ID })
		o.later[v.Node] = append(o.later[v.Node], laterEdge{to: whole})
		// A search for dependencies that arrives at the Barrier finds the resource, not what it depends on.
		n := o.node(KindBarrier, nil, v.Node.Name+" ("+read.Of.Addr.String()+")", nil)
		n.Resource, n.Object = read.Of, &InstanceBarrier{node: n}
		o.after(v.Node, n)
		v.everywhere = append(v.everywhere, o.connectKeys(n, read, read.In(v.evaluatedBy(), from), keys)...)
	}
}

// valueNode returns the node after which a value is final in one module instance.
func (o *instanceOrder) valueNode(v *Value, in addrs.ModuleInstance) *Node {
	if part := o.g.Part(v.Node, in); part != v.Node {
		return part
	}
	if !o.spread[v.Module].several || !o.carries(v) {
		return v.Node
	}
	key := valueIn{v, in}
	if n := o.values[key]; n != nil {
		return n
	}
	needs := slices.DeleteFunc(slices.Clone(o.g.Edges.Needs(v.Node.ID)), func(id dag.ID) bool {
		return slices.ContainsFunc(o.later[v.Node], func(edge laterEdge) bool { return edge.to.ID == id })
	})
	n := o.node(KindValueIn, v.Module, in.String()+"."+v.localName(), v.Node.Range)
	n.Object, n.In, n.Problems = v, in, v.Node.Problems
	o.values[key] = n
	o.after(v.Node, n)
	read, elements := o.connectReadsIn(n, v, in), v.elementBarriers()
	o.connectValueReads(n, v, in)
	for _, id := range needs {
		need := o.g.Nodes[id]
		switch {
		case read[need], need.completes() && read[need.Resource.Node] && !elements[need]:
		case o.local(need, v.Module, v.Kind == Variable):
			o.after(n, o.localNodes(need, v.Module, in)...)
		case need.Kind != KindValueIn:
			o.after(n, need)
		}
	}
	return n
}

// elementBarriers returns the Barriers of the elements that a value reads by constant keys through aliases.
func (v *Value) elementBarriers() map[*Node]bool {
	out := map[*Node]bool{}
	for _, one := range v.everywhere {
		read, _ := v.evaluatedBy().ReadNamed(one.Resource)
		if read.Via == nil {
			continue
		}
		if b := read.Of.Barriers[one.Key]; b != nil {
			out[b.node] = true
		}
	}
	return out
}

// earlyKeys returns the source of the keys that are known before the walk.
func (o *instanceOrder) earlyKeys() EarlyKeys {
	if o.early == nil {
		o.early = o.op.Early(o.g)
	}
	return o.early
}

// evaluatedIn returns the module instance in which a value in one instance of its module is
// evaluated. For a variable, this is the calling module instance.
func (v *Value) evaluatedIn(in addrs.ModuleInstance) addrs.ModuleInstance {
	if v.Kind == Variable {
		in, _ = in.Parent()
	}
	return in
}

// connectReadsIn makes the node of a value in one module instance wait for the instances that the value
// reads. It returns the nodes of their resources and of the aliases by which they are read. It
// leaves out those whose keys are not known.
func (o *instanceOrder) connectReadsIn(n *Node, v *Value, in addrs.ModuleInstance) map[*Node]bool {
	reads := o.readsByKey(v)
	if len(reads) == 0 {
		return nil
	}
	read, from := map[*Node]bool{}, v.evaluatedIn(in)
	for _, one := range reads {
		keys, known := o.earlyKeys().ReadValue(v, in, one.keyed())
		if !known {
			continue
		}
		read[one.whole()] = true
		if v.Reads == nil {
			v.Reads = map[addrs.ModuleInstance][]plans.InstanceRead{}
		}
		v.Reads[in] = append(v.Reads[in], o.connectKeys(n, one, one.In(v.evaluatedBy(), from), keys)...)
	}
	return read
}

// connectKeys makes a node wait for the instances of a resource in the module instance at that have
// the given keys. It returns the list of these instances for the evaluation of a value that reads
// them.
func (o *instanceOrder) connectKeys(
	n *Node, read IndexedRead, at addrs.ModuleInstance, keys []KeyRead,
) []plans.InstanceRead {
	of := read.Of
	of.readEarly = true
	o.after(n, o.g.Part(of.expand, at))
	o.after(n, read.expansions()...)
	if len(keys) == 0 {
		return []plans.InstanceRead{{Resource: read.Name(), Key: addrs.NoKey}}
	}
	out := make([]plans.InstanceRead, 0, len(keys))
	for _, k := range keys {
		out = append(out, plans.InstanceRead{Resource: read.Name(), Key: k.Key})
		if k.Key != addrs.NoKey {
			o.after(n, o.instanceNode(of, at, k.Key, nil))
		}
	}
	return out
}

// localName returns the name of a value within its module.
func (v *Value) localName() string {
	return map[valueKind]string{Variable: "var.", Local: "local.", Output: "output."}[v.Kind] + v.Name
}
