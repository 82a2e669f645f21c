package reads

import (
	"maps"
	"slices"

	"tofu/internal/lang"
)

// Keys are the repetition arguments of a resource or module call, which decide the keys of its
// instances.
type Keys struct {
	Repetition
	In       *Module   // the module that has the block
	Resource *Resource // nil for a module call
	Call     *Module   // nil for a resource
}

// Keys returns what decides the keys of a resource's instances.
func (r *Resource) Keys() Keys {
	return Keys{Repetition: r.Exprs.Repetition, In: r.Module, Resource: r}
}

// CallKeys returns what decides the keys of the instances of a module call.
func (m *Module) CallKeys() Keys { return Keys{Repetition: m.Repetition, In: m.Parent, Call: m} }

// Keys returns what decides the keys of the instances that are read.
func (r KeyedRead) Keys() Keys {
	if r.Call != nil {
		return r.Call.CallKeys()
	}
	return r.Of.Keys()
}

// Outputs returns the outputs that are read from each instance of a module call. There are none for a
// resource.
func (r KeyedRead) Outputs() []*Value {
	switch {
	case r.Output != nil:
		return []*Value{r.Output}
	case r.Call == nil:
		return nil
	}
	names := slices.Sorted(maps.Keys(r.Call.Outputs))
	out := make([]*Value, len(names))
	for i, name := range names {
		out[i] = r.Call.Outputs[name]
	}
	return out
}

// addCallReads appends to list the reads of module calls that an expression in the module reads
// only by instance, and returns the list.
func (m *Module) addCallReads(list []KeyedRead, refs *lang.Refs) []KeyedRead {
	for name, of := range refs.InstanceCalls() {
		child := m.Calls[name]
		if child == nil || !child.Repetition.Repeats() {
			continue
		}
		for _, ref := range of {
			output := child.Outputs[ref.Output]
			at := slices.IndexFunc(list, func(r KeyedRead) bool { return r.Call == child && r.Output == output })
			if at < 0 {
				at, list = len(list), append(list, KeyedRead{Call: child, Output: output})
			}
			list[at].Refs = append(list[at].Refs, ref)
		}
	}
	return list
}

// setValueReads sets the module calls and aliases that an argument or another value reads only by instance.
func (run Run) setValueReads(v *Value) {
	v.PerInstance = v.Kind == Variable && v.Expr != nil && usesRepetition(v.Expr.Refs)
	v.addChainedCall()
	run.addReadsVia(v)
	v.AliasReads = v.findAliasReads()
	if v.Expr == nil || !v.Expr.Refs.ReadsCalls() && v.CallReads == nil || v.Output != nil && v.Output.DependsOn != nil {
		return
	}
	list := v.EvaluatedBy().addCallReads(v.CallReads, &v.Expr.Refs)
	v.CallReads = slices.DeleteFunc(list, func(read KeyedRead) bool {
		return v.conditionsName(func(refs *lang.Refs) bool { return refs.NameCall(read.Call.Call.Name) })
	})
}

// SiblingRead is an argument of a module call that reads outputs of sibling instances.
type SiblingRead struct {
	To   *Value
	Read KeyedRead
}
