package reads

import (
	"maps"
	"slices"

	"tofu/internal/lang"
)

// CallRead describes which outputs an expression or a block reads from single instances of a module
// call.
type CallRead struct {
	Call   *Module
	Output *Value // nil for all outputs
	Via    *Value // the local by which the call is read, or nil; see alias_call.go
	Refs   lang.Instances
	Whole  bool // whether the instances of the block wait for the outputs of all instances in a plan
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

func (r IndexedRead) Keyed() Keyed { return Keyed{r.Refs, r.Of.Keys()} }
func (r CallRead) Keyed() Keyed    { return Keyed{r.Refs, r.Call.CallKeys()} }

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

// setValueReads sets the module calls that an argument or another value reads only by instance.
func (run Run) setValueReads(v *Value) {
	v.PerInstance = v.Kind == Variable && v.Expr != nil && usesRepetition(v.Expr.Refs)
	v.addChainedCall()
	run.addReadsVia(v)
	if v.Expr == nil || !v.Expr.Refs.ReadsCalls() && v.CallReads == nil || v.Output != nil && v.Output.DependsOn != nil {
		return
	}
	list := v.EvaluatedBy().addCallReads(v.CallReads, &v.Expr.Refs)
	v.CallReads = slices.DeleteFunc(list, func(read CallRead) bool {
		return v.conditionsName(func(refs *lang.Refs) bool { return refs.NameCall(read.Call.Call.Name) })
	})
}

// SiblingRead is an argument of a module call that reads outputs of sibling instances.
type SiblingRead struct {
	To   *Value
	Read CallRead
}
