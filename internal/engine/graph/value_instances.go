package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/plans"
)

// Values evaluated by instance
//
// Normally, one node evaluates a value for all instances of its module. If several instances of a
// module have Steps, and a value connects one resource of the module with another, each of these
// instances gets a node that evaluates the value there. So module.m[0].b waits only for
// module.m[0].a, even if the reference goes through locals, outputs of modules or arguments of
// their calls. Likewise, if an argument of a call is a[each.key].id, an instance of the called
// module waits only for the instance of a that has its key. The value's own node evaluates it for
// all other instances of the module, after these nodes.

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
	byKey := len(o.later[v.Node]) > 0 || len(o.argumentReads(v)) > 0
	out := byKey || slices.ContainsFunc(o.g.Edges.Needs(v.Node.ID), func(id dag.ID) bool {
		return o.local(o.g.Nodes[id], v.Module, v.Kind == Variable)
	})
	o.carrying[v] = out
	return out
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

// argumentReads returns the changing resources of the calling module that an argument reads only by
// instance, using at least one key that differs between the instances of the call.
func (o *instanceOrder) argumentReads(v *Value) []IndexedRead {
	if v.Kind != Variable || !v.PerInstance || o.op.Phase != PhaseApply || o.op.Early == nil {
		return nil
	}
	return v.instancesRead(v.Module.EachOf, func(read IndexedRead) bool {
		of := read.Of
		return of.Config != nil && of.Config.Check == nil && len(o.steps[of]) > 0 && read.Refs.Computed() &&
			(read.Via == nil || !o.op.Partial())
	})
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
	read := o.connectArgument(n, v, in)
	o.connectValueReads(n, v, in)
	for _, id := range needs {
		need := o.g.Nodes[id]
		switch {
		case read[need], need.completes() && read[need.Resource.Node]:
		case o.local(need, v.Module, v.Kind == Variable):
			o.after(n, o.localNodes(need, v.Module, in)...)
		case need.Kind != KindValueIn:
			o.after(n, need)
		}
	}
	return n
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

// connectArgument makes the node of an argument wait for the instances that it reads. It returns the
// nodes of their resources and of the aliases by which they are read. It leaves out those whose keys
// are not known.
func (o *instanceOrder) connectArgument(n *Node, v *Value, in addrs.ModuleInstance) map[*Node]bool {
	read := map[*Node]bool{}
	parent, _ := in.Parent()
	for _, reads := range o.argumentReads(v) {
		keys, known := o.earlyKeys().ReadValue(v, in, reads.keyed())
		if !known {
			continue
		}
		of := reads.Of
		read[reads.whole()], of.readEarly = true, true
		if v.Reads == nil {
			v.Reads = map[addrs.ModuleInstance][]plans.InstanceRead{}
		}
		o.after(n, of.expand)
		o.after(n, reads.expansions()...)
		if len(keys) == 0 {
			keys = []KeyRead{{Key: addrs.NoKey}}
		}
		for _, k := range keys {
			v.Reads[in] = append(v.Reads[in], plans.InstanceRead{Resource: reads.Name(), Key: k.Key})
			if k.Key != addrs.NoKey {
				o.after(n, o.instanceNode(of, reads.In(v.Module.Parent, parent), k.Key, nil))
			}
		}
	}
	return read
}

// localName returns the name of a value within its module.
func (v *Value) localName() string {
	return map[valueKind]string{Variable: "var.", Local: "local.", Output: "output."}[v.Kind] + v.Name
}
