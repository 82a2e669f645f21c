package graph

import (
	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/lang"
)

// Blocks with for_each = module.NAME
//
// If for_each is a module call that has for_each itself, the block has the keys of the call.
// each.value is an object with the outputs of the module instance that has the same key. The
// instances of the block are decided together with those of the call. Each instance reads the
// outputs in the same way as with a reference to module.NAME[each.key]. The read is therefore one
// of the CallReads of the block, or of the argument that uses each.value.

// ChainedCall returns the module call in for_each = module.NAME, or nil if the block is not repeated
// this way.
func (r *Resource) ChainedCall() *Module {
	if r.Exprs == nil {
		return nil
	}
	return r.Module.chainedCall(r.Exprs.Repetition)
}

// ChainedCall returns the module call in for_each = module.NAME, or nil if the call is not repeated
// this way.
func (m *Module) ChainedCall() *Module {
	call := m.Parent.chainedCall(m.Repetition)
	if call == m {
		return nil
	}
	return call
}

// chainedCall returns the call in the for_each of a block in the module. It returns nil if the call
// has no for_each, or if it has deprecated or ephemeral outputs: they cause a warning or an error
// about the block's for_each as a whole.
func (m *Module) chainedCall(rep Repetition) *Module {
	subject, ok := rep.eachOf().(addrs.ModuleCall)
	if !ok || m == nil || m.Calls[subject.Name] == nil {
		return nil
	}
	call := m.Calls[subject.Name]
	for _, v := range call.Outputs {
		if v.Output.Deprecated != "" || v.Output.Ephemeral.Value {
			return nil
		}
	}
	if call.Repetition.ForEach == nil {
		return nil
	}
	return call
}

// chainedRead returns the read by a block with for_each = module.NAME: each instance reads all
// outputs of the module instance with the same key.
func chainedRead(call *Module) CallRead {
	return CallRead{Call: call, Refs: lang.Instances{{Index: eachKey}}}
}

// addChainedCall adds to the CallReads of an argument what it reads with each.value, unless it also
// reads the call as a whole.
func (b *build) addChainedCall(v *Value) {
	if b.op.Partial() || v.Kind != Variable || v.Module.Parent == nil || !v.ReadsEachValue() {
		return
	}
	call := v.Module.ChainedCall()
	if call == nil {
		return
	}
	if _, only := v.Expr.Refs.CallInstances(call.Call.Name); only || !v.Expr.Refs.NameCall(call.Call.Name) {
		v.CallReads = append(v.CallReads, chainedRead(call))
	}
}

// setEachCall sets EachCall of a block if an apply decides the block's instances before the outputs
// of the call in its for_each are final.
func (c *connector) setEachCall(r *Resource) {
	call := r.ChainedCall()
	if call != nil && c.readsKeyed(r.Inputs, call) {
		r.EachCall = call
	}
}

// setModuleEachCall is like setEachCall, but for module calls. It skips the calls in usesEach,
// whose provider keys use each.
func (c *connector) setModuleEachCall(usesEach map[*Module]bool) {
	for _, m := range c.g.Modules {
		if m.Parent == nil || usesEach[m] {
			continue
		}
		call := m.ChainedCall()
		if call == nil || !c.instances.hasSteps(call) {
			continue
		}
		if m.argumentsReadOnlyEach(call) {
			m.EachCall = call
		}
	}
}

// argumentsReadOnlyEach reports whether all arguments that use each.value read the call only by
// instance.
func (m *Module) argumentsReadOnlyEach(call *Module) bool {
	for _, v := range m.Variables {
		if v.ReadsEachValue() && !v.readsCall(call) {
			return false
		}
	}
	return true
}

// awaitEachCall makes the node of the instance of m with the given key wait for outputs of the call
// in m's for_each. These are the outputs of the instance with the same key.
func (o *instanceOrder) awaitEachCall(n *Node, m *Module, parent addrs.ModuleInstance, key addrs.InstanceKey) {
	for _, output := range chainedRead(m.EachCall).Outputs() {
		o.after(n, o.valueNode(output, parent.Child(m.EachCall.Call.Name, key)))
	}
}

// decideEarlyByCall lets a call whose for_each is another call decide its instances, in a plan, before
// the outputs of that call are evaluated. The arguments that use each.value wait for the outputs.
func (p *planCalls) decideEarlyByCall(m *Module) {
	call := m.ChainedCall()
	if p.whole[m.expand.ID] || p.callOf(m) == nil || p.callOf(call) == nil {
		return
	}
	m.EachCall = call
	outputs := map[dag.ID]bool{call.end.ID: true}
	for _, output := range call.Outputs {
		outputs[output.Node.ID] = true
	}
	p.g.Edges.Remove(m.expand.ID, func(id dag.ID) bool { return outputs[id] })
	for _, v := range m.Variables {
		if !v.ReadsEachValue() {
			continue
		}
		for _, output := range chainedRead(call).Outputs() {
			p.after(v.Node, output.Node)
		}
	}
}
