package reads

import (
	"iter"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// Blocks with for_each = OBJECT
//
// If for_each is a resource that has for_each itself, or an alias of one, the block has its keys, and
// each.value is the instance that has the same key.
//
// If for_each is a module call that has for_each itself, or a local that is such a call (see
// CallAlias), the block has the keys of the call. each.value is an object with the outputs of the
// module instance that has the same key. The instances of the block are decided together with those
// of the call. Each instance reads the outputs like references to module.NAME[each.key], so these
// reads are in ByKey of the block, or in CallReads of the argument that uses each.value. If
// each.value is only used in the form each.value.OUTPUT, only these outputs are read.

// Each is the object in for_each = OBJECT, which decides the instances of a block: a resource, an alias of
// one or a module call.
type Each struct {
	KeyedRead
	// Reads are what is read with each.value: the instance or element that has the key of the reader, or
	// outputs of the module instance that has it.
	Reads []KeyedRead

	Outputs []string // the outputs that are read of a call: sorted; nil for all outputs
	// Local is the local of which each.value is an element. It is nil if each.value is an object with
	// the outputs.
	Local *Value
}

// ChainedTo returns the object in for_each = OBJECT, or nil if the block is not repeated this way.
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

// ChainedTo returns the object in for_each = OBJECT, or nil if the call is not repeated this way.
func (m *Module) ChainedTo() *KeyedRead {
	read := m.Parent.chain(m.Repetition)
	if read == nil || read.Call == m || read.Call != nil && read.Via != nil && len(m.Call.DependsOn) > 0 {
		return nil // depends_on may name the local
	}
	return read
}

// chain returns the object in for_each = OBJECT, for a block in the module. It returns nil if the block is
// not repeated this way.
func (m *Module) chain(rep Repetition) *KeyedRead {
	subject := rep.eachOf()
	if subject == nil || m == nil {
		return nil
	}
	out := &KeyedRead{Refs: lang.Instances{{Index: eachKey}}}
	switch n := m.Named(subject); {
	case n.Key != addrs.NoKey:
	case n.IsWholeCall():
		out.Call = n.Call
	case n.Resource != nil:
		out.Of = n.Resource
	case n.Value != nil && n.Value.Alias != nil:
		out.Of, out.Via = n.Value.Alias.Of, n.Value
	case n.Value.CallAlias() != nil && len(n.Value.callAlias.Call.Outputs) > 0:
		out.Call, out.Via = n.Value.callAlias.Call, n.Value
	}
	if out.Call != nil && out.Call.decidesKeys() ||
		out.Of != nil && out.Of.Config != nil && out.Of.Exprs.Repetition.ForEach != nil {
		return out
	}
	return nil
}

// decidesKeys reports whether a block whose for_each is the call is decided together with it. It returns
// false if the call has no for_each, or if it has deprecated or ephemeral outputs: they cause a warning or
// an error about the block's for_each as a whole.
func (m *Module) decidesKeys() bool {
	for _, v := range m.Outputs {
		if v.Output.Deprecated != "" || v.Output.Ephemeral.Value {
			return false
		}
	}
	return m.Repetition.ForEach != nil
}

// each adds to the object in a block's for_each what expressions read of it with each.value. If none of
// them uses each.value, the block depends on all outputs of a call.
func (r KeyedRead) each(units iter.Seq[*lang.Refs]) *Each {
	out := &Each{KeyedRead: r, Reads: []KeyedRead{r}}
	if r.Call == nil {
		return out
	}
	out.Outputs = r.Call.outputsIn(func(yield func(hcl.Traversal) bool) {
		for refs := range units {
			for _, ref := range refs.Objects {
				if ref.Subject == (addrs.ForEachAttr{Name: "value"}) && !yield(ref.Remaining) {
					return
				}
			}
		}
	})
	if alias := r.Via.CallAlias(); alias != nil && alias.Outputs != nil {
		out.Outputs, out.Local = alias.Outputs, r.Via
	}
	out.Reads = r.ofOutputs(out.Outputs)
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

// ByEach reports whether each.value is read: the instance, or outputs of the module instance, that has the
// key of the reader.
func (r KeyedRead) ByEach() bool {
	return slices.ContainsFunc(r.Refs, func(ref lang.InstanceRef) bool { return ref.Index == eachKey })
}

// FindEach returns the object in the for_each of a block with what the block reads of it. It returns nil if
// the block is not repeated this way.
func (r *Resource) FindEach() *Each {
	if read := r.ChainedTo(); read != nil {
		return read.each(r.eachUnits())
	}
	return nil
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

// FindEach returns the object in the for_each of a module call with what the arguments read of it. It returns
// nil if the call is not repeated this way.
func (m *Module) FindEach() *Each {
	if read := m.ChainedTo(); read != nil {
		return read.each(m.eachUnits())
	}
	return nil
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
	of := v.Module.ChainedTo()
	if of == nil || of.Call == nil {
		return
	}
	name := of.Call.Call.Name
	if _, only := v.Expr.Refs.CallInstances(name); only || !v.Expr.Refs.NameCall(name) {
		v.EachCall = of.each(slices.Values([]*lang.Refs{&v.Expr.Refs}))
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
