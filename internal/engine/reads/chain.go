package reads

import (
	"iter"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// Blocks with for_each = module.NAME
//
// If for_each is a module call that has for_each itself, or a local that is such a call (see
// CallAlias), the block has the keys of the call.
// each.value is an object with the outputs of the module instance that has the same key. The
// instances of the block are decided together with those of the call. Each instance reads the
// outputs like references to module.NAME[each.key]. These reads are therefore among the CallReads of
// the block, or of the argument that uses each.value. If each.value is only used in the form
// each.value.OUTPUT, only these outputs are read.

// EachCall is a module call that decides the instances of a block, and the outputs that are read with
// each.value.
type EachCall struct {
	Call    *Module
	Via     *Value   // the local by which for_each refers to the call, or nil
	Outputs []string // sorted; nil for all outputs
	// Local is the local of which each.value is an element. It is nil if each.value is an object with
	// the outputs.
	Local *Value
	// Reads are the reads of these outputs of the module instance that has the key of the reader.
	Reads []KeyedRead
}

// ChainedCall returns the module call in for_each = module.NAME, or nil if the block is not repeated
// this way.
func (r *Resource) ChainedCall() *Module {
	if r.Exprs == nil {
		return nil
	}
	call, _ := r.Module.chainedCall(r.Exprs.Repetition)
	return call
}

// ChainedCall returns the module call in for_each = module.NAME, or nil if the call is not repeated
// this way.
func (m *Module) ChainedCall() *Module {
	call, via := m.Parent.chainedCall(m.Repetition)
	if call == m || via != nil && len(m.Call.DependsOn) > 0 { // depends_on may name the local
		return nil
	}
	return call
}

// chainedCall returns the call in the for_each of a block in the module. via is the local by which
// for_each refers to the call, or nil. chainedCall returns nil if the call has no for_each, or if it
// has deprecated or ephemeral outputs: they cause a warning or an error about the block's for_each as
// a whole.
func (m *Module) chainedCall(rep Repetition) (call *Module, via *Value) {
	if m == nil {
		return nil, nil
	}
	switch s := rep.eachOf().(type) {
	case addrs.ModuleCall:
		call = m.Calls[s.Name]
	case addrs.LocalValue:
		alias := m.Locals[s.Name].CallAlias()
		if alias != nil && len(alias.Call.Outputs) > 0 {
			call, via = alias.Call, m.Locals[s.Name]
		}
	}
	if call == nil || call.Repetition.ForEach == nil {
		return nil, nil
	}
	for _, v := range call.Outputs {
		if v.Output.Deprecated != "" || v.Output.Ephemeral.Value {
			return nil, nil
		}
	}
	return call, via
}

// newEachCall returns the call in a block's for_each with the outputs that expressions read with
// each.value. If none of them uses each.value, the block depends on all outputs. via is the local by
// which for_each refers to the call, or nil.
func newEachCall(call *Module, via *Value, units iter.Seq[*lang.Refs]) *EachCall {
	outputs := call.outputsIn(func(yield func(hcl.Traversal) bool) {
		for refs := range units {
			for _, ref := range refs.Objects {
				if ref.Subject == (addrs.ForEachAttr{Name: "value"}) && !yield(ref.Remaining) {
					return
				}
			}
		}
	})
	out := &EachCall{Call: call, Via: via, Outputs: outputs}
	if alias := via.CallAlias(); alias != nil && alias.Outputs != nil {
		out.Outputs, out.Local = alias.Outputs, via
	}
	out.Reads = KeyedRead{Call: call, Via: via, Refs: lang.Instances{{Index: eachKey}}}.ofOutputs(out.Outputs)
	return out
}

// outputsIn returns the sorted names of the outputs with which paths from an instance of the call
// begin. It returns nil, for all outputs, if some path may lead to any output or if there are no paths.
func (m *Module) outputsIn(paths iter.Seq[hcl.Traversal]) []string {
	used := map[string]bool{}
	for path := range paths {
		name := addrs.FirstName(path)
		if m.Outputs[name] == nil {
			return nil
		}
		used[name] = true
	}
	return slices.Sorted(maps.Keys(used))
}

// ofOutputs returns a read for each of the named outputs. It returns only r, which reads all outputs,
// if names is nil.
func (r KeyedRead) ofOutputs(names []string) []KeyedRead {
	if names == nil {
		return []KeyedRead{r}
	}
	out := make([]KeyedRead, len(names))
	for i, name := range names {
		out[i] = r
		out[i].Output = r.Call.Outputs[name]
	}
	return out
}

// ByEach reports whether the outputs are read with each.value, from the module instance that has the key
// of the reader.
func (r KeyedRead) ByEach() bool {
	return slices.ContainsFunc(r.Refs, func(ref lang.InstanceRef) bool { return ref.Index == eachKey })
}

// FindEachCall returns the call in the for_each of a block with the outputs that the block reads. It returns
// nil if the block is not repeated this way.
func (r *Resource) FindEachCall() *EachCall {
	call, via := r.Module.chainedCall(r.Exprs.Repetition)
	if call == nil {
		return nil
	}
	return newEachCall(call, via, r.eachUnits())
}

// eachUnits returns the expressions of a block that may use each.value.
func (r *Resource) eachUnits() iter.Seq[*lang.Refs] {
	return func(yield func(*lang.Refs) bool) {
		if key := r.ProviderKey; key != nil && key.Call == "" && !yield(&key.Expr.Refs) {
			return
		}
		r.Exprs.Units()(yield)
	}
}

// FindEachCall returns the call in the for_each of a module call with the outputs that the arguments
// read. It returns nil if the call is not repeated this way.
func (m *Module) FindEachCall() *EachCall {
	if m.ChainedCall() == nil {
		return nil
	}
	call, via := m.Parent.chainedCall(m.Repetition)
	return newEachCall(call, via, m.eachUnits())
}

// eachUnits returns the arguments of a module call, which may use each.value.
func (m *Module) eachUnits() iter.Seq[*lang.Refs] {
	return func(yield func(*lang.Refs) bool) {
		for _, v := range m.Variables {
			if v.Expr != nil && !yield(&v.Expr.Refs) {
				return
			}
		}
	}
}

// addChainedCall adds to the CallReads of an argument what it reads with each.value, unless it also
// reads the call as a whole.
func (v *Value) addChainedCall() {
	if v.Kind != Variable || v.Module.Parent == nil || !v.ReadsEachValue() {
		return
	}
	call := v.Module.ChainedCall()
	if call == nil {
		return
	}
	if _, only := v.Expr.Refs.CallInstances(call.Call.Name); only || !v.Expr.Refs.NameCall(call.Call.Name) {
		_, via := v.Module.Parent.chainedCall(v.Module.Repetition)
		v.EachCall = newEachCall(call, via, slices.Values([]*lang.Refs{&v.Expr.Refs}))
		for _, read := range v.EachCall.Reads {
			read.Via = nil // the argument itself doesn't refer to the local by this
			v.CallReads = append(v.CallReads, read)
		}
	}
}

// ArgumentsReadOnlyEach reports whether all arguments that use each.value read the call only by
// instance.
func (m *Module) ArgumentsReadOnlyEach(call *Module) bool {
	for _, v := range m.Variables {
		if v.ReadsEachValue() && !v.ReadsCall(call) {
			return false
		}
	}
	return true
}

// ChainedTo returns the resource or alias in for_each = OBJECT, or nil if the block is not repeated
// this way.
func (r *Resource) ChainedTo() *KeyedRead {
	if r.Exprs == nil {
		return nil
	}
	read := r.Module.chain(r.Exprs.Repetition)
	if read == nil || read.Of == r {
		return nil
	}
	return read
}

// ChainedTo returns the resource or alias in for_each = OBJECT, or nil if the call is not repeated this
// way.
func (m *Module) ChainedTo() *KeyedRead { return m.Parent.chain(m.Repetition) }
