package graph

import (
	"iter"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// instancesRead returns the resources and aliases that a value reads only by instance. It omits
// those for which usable returns false. each is the resource or alias in the for_each of the module
// call that the value is an argument of, or nil.
func (v *Value) instancesRead(each *IndexedRead, usable func(IndexedRead) bool) []IndexedRead {
	m := v.evaluatedBy()
	if m == nil || v.Expr == nil || v.DependsOn != nil {
		return nil
	}
	var out []IndexedRead
	seen := map[*Resource]bool{}
	for _, ref := range v.Expr.Refs.Objects {
		of := m.ResourceOf(ref.Subject)
		if of == nil || seen[of] {
			continue
		}
		seen[of] = true
		refs, only := v.Expr.Refs.ByInstance(of.Addr.Resource)
		if read := (IndexedRead{Of: of, Refs: refs}); only && usable(read) && !v.conditionsName(of.Addr.Resource) {
			out = append(out, read)
		}
	}
	for _, read := range v.aliasesRead(m) {
		if usable(read) {
			out = append(out, read)
		}
	}
	return v.addEach(out, each)
}

// addEach adds what an argument reads with each.value to list, unless the argument also reads it as
// a whole. each is the resource or alias in the for_each of the module call, or nil.
func (v *Value) addEach(list []IndexedRead, each *IndexedRead) []IndexedRead {
	if each == nil || v.Kind != Variable || !v.ReadsEachValue() ||
		!slices.ContainsFunc(list, each.same) && each.namedBy(v.Module.Parent, &v.Expr.Refs) {
		return list
	}
	return addRead(list, *each)
}

// conditionsName reports whether a condition of a local or output refers to a resource.
func (v *Value) conditionsName(of addrs.Resource) bool {
	return v.Kind != Variable && slices.ContainsFunc(v.Conditions, func(rule Condition) bool {
		return rule.Condition.Refs.Name(of) || rule.Message.Refs.Name(of)
	})
}

// aliasesRead returns the aliases that a value reads only by key. m is the module in which the value
// is evaluated.
func (v *Value) aliasesRead(m *Module) []IndexedRead {
	list := m.aliasesRead(nil, slices.Values([]*lang.Refs{&v.Expr.Refs}))
	return slices.DeleteFunc(list, func(read IndexedRead) bool {
		return v.Kind != Variable && slices.ContainsFunc(v.Conditions, func(rule Condition) bool {
			return read.namedBy(m, &rule.Condition.Refs) || read.namedBy(m, &rule.Message.Refs)
		})
	})
}

// aliasesRead returns the aliases that a block reads only by key.
func (r *Resource) aliasesRead() []IndexedRead {
	chain := r.ChainedTo()
	if chain == nil || chain.Via == nil {
		return r.Module.aliasesRead(nil, r.Exprs.units())
	}
	forEach := &r.Exprs.Repetition.ForEach.Refs
	return r.Module.aliasesRead([]IndexedRead{*chain}, func(yield func(*lang.Refs) bool) {
		for unit := range r.Exprs.units() {
			if unit != forEach && !yield(unit) {
				return
			}
		}
	})
}

// aliasesRead adds the aliases that expressions in a module read only by key to list. It removes
// the aliases that the expressions read as a whole.
func (m *Module) aliasesRead(list []IndexedRead, units iter.Seq[*lang.Refs]) []IndexedRead {
	whole := map[*Value]bool{}
	for unit := range units {
		seen := map[*Value]bool{}
		for _, ref := range unit.Objects {
			v := m.valueOf(ref.Subject)
			if v == nil || v.Alias == nil || seen[v] {
				continue
			}
			seen[v] = true
			refs, only := unit.ValueInstances(ref.Subject)
			whole[v] = whole[v] || !only
			list = addRead(list, IndexedRead{Of: v.Alias.Of, Via: v, Refs: refs})
		}
	}
	return slices.DeleteFunc(list, func(read IndexedRead) bool { return whole[read.Via] })
}

// evaluatedIn returns the module instance in which a value in one instance of its module is
// evaluated. For a variable, this is the calling module instance.
func (v *Value) evaluatedIn(in addrs.ModuleInstance) addrs.ModuleInstance {
	if v.Kind == Variable {
		in, _ = in.Parent()
	}
	return in
}
