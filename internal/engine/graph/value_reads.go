package graph

import (
	"iter"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// instancesRead returns the resources and aliases that a value reads only by instance. It omits
// resources for which usable returns false. For an argument, each is the resource or alias in the
// for_each of the module call; it is nil for other values.
func (v *Value) instancesRead(each *IndexedRead, usable func(*Resource) bool) []IndexedRead {
	m := v.evaluatedBy()
	if m == nil || v.Expr == nil || v.DependsOn != nil {
		return nil
	}
	var out []IndexedRead
	seen := map[*Resource]bool{}
	for _, ref := range v.Expr.Refs.Objects {
		of := m.ResourceOf(ref.Subject)
		if of == nil || seen[of] || !usable(of) {
			continue
		}
		seen[of] = true
		if refs, only := v.Expr.Refs.ByInstance(of.Addr.Resource); only && !v.conditionsName(of.Addr.Resource) {
			out = append(out, IndexedRead{Of: of, Refs: refs})
		}
	}
	if v.Kind == Variable || len(v.Conditions) == 0 {
		out = append(out, m.aliasesRead(nil, slices.Values([]*lang.Refs{&v.Expr.Refs}))...)
	}
	if each == nil || !v.ReadsEachValue() || !slices.ContainsFunc(out, each.same) && each.isNamed(m, &v.Expr.Refs) {
		return out
	}
	return addRead(out, *each)
}

// isNamed reports whether refs, which are references in the module m, include the resource or
// alias.
func (r IndexedRead) isNamed(m *Module, refs *lang.Refs) bool {
	return slices.ContainsFunc(refs.Objects, func(ref *addrs.Reference) bool {
		if r.Via != nil {
			return m.valueOf(ref.Subject) == r.Via
		}
		return m.ResourceOf(ref.Subject) == r.Of
	})
}

// conditionsName reports whether a condition of a local or output refers to a resource.
func (v *Value) conditionsName(of addrs.Resource) bool {
	return v.Kind != Variable && slices.ContainsFunc(v.Conditions, func(rule Condition) bool {
		return rule.Condition.Refs.Name(of) || rule.Message.Refs.Name(of)
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

// aliasesRead adds to list the aliases that expressions in a module read only by key. It removes those
// that they read as a whole.
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
			list = addRead(list, IndexedRead{v.Alias.Of, v, refs})
		}
	}
	return slices.DeleteFunc(list, func(read IndexedRead) bool { return whole[read.Via] })
}
