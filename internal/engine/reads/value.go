package reads

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// instancesRead returns the resources and aliases that a value reads only by instance. It omits
// those for which usable returns false. each is the object in the for_each of the module
// call that the value is an argument of, or nil.
func (v *Value) instancesRead(each *Each, usable func(KeyedRead) bool) []KeyedRead {
	m := v.EvaluatedBy()
	if m == nil || v.Expr == nil || v.DependsOn != nil {
		return nil
	}
	var out []KeyedRead
	seen := map[*Resource]bool{}
	for _, ref := range v.Expr.Refs.Objects {
		of := m.ResourceOf(ref.Subject)
		if of == nil || seen[of] {
			continue
		}
		seen[of] = true
		refs, only := v.Expr.Refs.ByInstance(of.Addr.Resource)
		if read := (KeyedRead{Of: of, Refs: refs}); only && usable(read) && !v.conditionsName(of.namedBy) {
			out = append(out, read)
		}
	}
	for _, read := range v.readsVia() {
		if read.Call == nil && usable(read) {
			out = append(out, read)
		}
	}
	return v.addEach(out, each)
}

// addEach adds what an argument reads with each.value of a resource or alias to list, unless the argument
// also reads it as a whole. each is the object in the for_each of the module call, or nil.
func (v *Value) addEach(list []KeyedRead, each *Each) []KeyedRead {
	if each == nil || each.Call != nil || v.Kind != Variable || !v.ReadsEachValue() ||
		!slices.ContainsFunc(list, each.same) && each.NamedBy(v.Module.Parent, &v.Expr.Refs) {
		return list
	}
	return addRead(list, each.KeyedRead)
}

// conditionsName reports whether a condition of a local or output has references for which names returns
// true.
func (v *Value) conditionsName(names func(*lang.Refs) bool) bool {
	return v.Kind != Variable && slices.ContainsFunc(v.Conditions, func(rule Condition) bool {
		return names(&rule.Condition.Refs) || names(&rule.Message.Refs)
	})
}

// EvaluatedIn returns the module instance in which a value in one instance of its module is
// evaluated. For a variable, this is the calling module instance.
func (v *Value) EvaluatedIn(in addrs.ModuleInstance) addrs.ModuleInstance {
	if v.Kind == Variable {
		in, _ = in.Parent()
	}
	return in
}

// ReadsOnlyByKey reports whether every reference from a block or a value to another value is followed by
// a key.
func (n *Node) ReadsOnlyByKey(subject addrs.Referenceable) bool {
	var all []*lang.Refs
	if v := n.Value(); v != nil && v.Expr != nil {
		all = append(all, &v.Expr.Refs)
	} else if n.Resource != nil && n.Resource.Exprs != nil {
		all = slices.Collect(n.Resource.Exprs.References())
	}
	read := false
	for _, refs := range all {
		if slices.ContainsFunc(refs.Objects, func(ref *addrs.Reference) bool { return ref.Subject == subject }) {
			_, only := refs.ValueInstances(subject)
			if !only {
				return false
			}
			read = true
		}
	}
	return read
}

// ReadsResource reports whether a value reads only single instances of a resource.
func (v *Value) ReadsResource(of *Resource) bool {
	if v.Expr == nil || of.Exprs == nil || !of.Exprs.Repetition.Repeats() {
		return false
	}
	_, only := v.Expr.Refs.ByInstance(of.Addr.Resource)
	return only
}

// ReadsResource reports whether a block reads only single instances of a resource.
func (r *Resource) ReadsResource(of *Resource) bool {
	return slices.ContainsFunc(r.ReadsByInstance(), func(read KeyedRead) bool { return read.Of == of })
}

// ReadsCall reports whether a value reads single instances of a module call.
func (v *Value) ReadsCall(call *Module) bool {
	return slices.ContainsFunc(v.CallReads, func(read KeyedRead) bool { return read.Call == call })
}

// ReadsInPlan returns the resources and aliases that a value in a plan reads only by instance.
func (v *Value) ReadsInPlan() []KeyedRead {
	return v.instancesRead(v.Module.Each, func(read KeyedRead) bool { return read.Of.Readable() })
}

// Readable reports whether values may read single instances of a resource before it is complete.
func (r *Resource) Readable() bool {
	return r.repeats() && r.Schema != nil && !r.Node.Dropped && len(r.Node.Problems) == 0
}

// namedBy reports whether references in the resource's module include the resource.
func (r *Resource) namedBy(refs *lang.Refs) bool { return refs.Name(r.Addr.Resource) }

// repeats reports whether a resource block outside of checks has instances with keys.
func (r *Resource) repeats() bool {
	return r.Config != nil && r.Config.Check == nil && r.Exprs.Repetition.Repeats()
}
