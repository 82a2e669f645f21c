package graph

import (
	"iter"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/lang"
)

// Locals that are a whole module call
//
// A local such as mods = module.m, or outs = { for k, m in module.m : k => m.out }, has the keys of
// the call, and each element depends only on outputs of the module instance with its key. Targets
// follow local.mods["x"].out and for_each = local.mods to these outputs. In the order of a run,
// readers wait for the whole local.

// callAlias describes a local that is a module call.
type callAlias struct {
	call *Module
	// outputs are the names of the outputs that each element uses. It is nil if an element is an
	// object with all outputs of a module instance.
	outputs []string
}

// callAlias returns nil if the value is not an alias of a module call. It follows at most the given
// number of locals, because locals can form a cycle.
func (v *Value) callAlias(most int) *callAlias {
	if v == nil || v.Kind != Local || most == 0 {
		return nil
	}
	ref, list := v.aliased()
	if ref == nil || list {
		return nil
	}
	var out *callAlias
	switch s := ref.Subject.(type) {
	case addrs.ModuleCall:
		if call := v.Module.Calls[s.Name]; call != nil && call.Repetition.Repeats() {
			out = &callAlias{call: call}
		}
	case addrs.LocalValue:
		out = v.Module.Locals[s.Name].callAlias(most - 1)
	}
	each, loop := v.Expr.Expression.(*hclsyntax.ForExpr)
	switch {
	case out == nil || !loop:
		return out
	case out.call.Repetition.ForEach == nil:
		return nil
	case out.outputs == nil:
		out.outputs = out.call.outputsIn(pathsFrom(each))
		if out.outputs == nil { // an element may be an object that contains a whole module instance
			out.outputs = slices.Sorted(maps.Keys(out.call.Outputs))
		}
	}
	return out
}

// pathsFrom returns what follows the value variable of a "for" expression in each use of the variable
// for an element of the result.
func pathsFrom(e *hclsyntax.ForExpr) iter.Seq[hcl.Traversal] {
	return func(yield func(hcl.Traversal) bool) {
		for _, tr := range e.ValExpr.Variables() {
			if tr.RootName() == e.ValVar && !yield(tr[1:]) {
				return
			}
		}
	}
}

// maxAliases is the number of locals that are followed from one to the next.
const maxAliases = 16

// reads returns the reads of elements of the alias via. outputs are the outputs that are used if an
// element has all of them; nil means all.
func (a *callAlias) reads(via *Value, refs lang.Instances, outputs []string) []CallRead {
	if a.outputs != nil {
		outputs = a.outputs
	}
	return CallRead{Call: a.call, Via: via, Refs: refs}.ofOutputs(outputs)
}

// pathsAfter returns what follows the key in each reference such as local.NAME["x"].OUTPUT. It returns
// an empty path for a computed index.
func pathsAfter(local addrs.LocalValue, unit *lang.Refs) iter.Seq[hcl.Traversal] {
	return func(yield func(hcl.Traversal) bool) {
		for _, ref := range unit.Objects {
			if ref.Subject == local && !yield(ref.Remaining[min(1, len(ref.Remaining)):]) {
				return
			}
		}
	}
}

// callAliasReads adds to list what expressions in the module read only by key through locals that are
// module calls. It removes the reads through locals that they read as a whole.
func (m *Module) callAliasReads(list []CallRead, units iter.Seq[*lang.Refs]) []CallRead {
	whole := map[*Value]bool{}
	for unit := range units {
		seen := map[*Value]bool{}
		for _, ref := range unit.Objects {
			local, ok := ref.Subject.(addrs.LocalValue)
			v := m.Locals[local.Name]
			if !ok || v == nil || seen[v] {
				continue
			}
			seen[v] = true
			alias := v.callAlias(maxAliases)
			if alias == nil {
				continue
			}
			refs, only := unit.ValueInstances(local)
			whole[v] = whole[v] || !only
			list = append(list, alias.reads(v, refs, alias.call.outputsIn(pathsAfter(local, unit)))...)
		}
	}
	return slices.DeleteFunc(list, func(read CallRead) bool { return whole[read.Via] })
}

// eachReads returns what a block in the module reads with each.value if its for_each is a module call, or
// a local that is one. units are the expressions that may use each.value.
func (m *Module) eachReads(rep Repetition, units iter.Seq[*lang.Refs]) []CallRead {
	if m == nil {
		return nil
	}
	if call := m.chainedCall(rep); call != nil {
		return newEachCall(call, units).reads
	}
	local, ok := rep.eachOf().(addrs.LocalValue)
	if !ok {
		return nil
	}
	v := m.Locals[local.Name]
	alias := v.callAlias(maxAliases)
	if alias == nil || alias.call.Repetition.ForEach == nil {
		return nil
	}
	return alias.reads(v, lang.Instances{{Index: eachKey}}, newEachCall(alias.call, units).Outputs)
}

// callAliasReads returns what a block reads only by key through locals that are module calls.
func (r *Resource) callAliasReads() []CallRead {
	forEach := r.Exprs.Repetition.ForEach
	var each []CallRead
	if r.ChainedCall() == nil && forEach != nil {
		each = r.Module.eachReads(r.Exprs.Repetition, r.eachUnits())
	}
	return r.Module.callAliasReads(each, func(yield func(*lang.Refs) bool) {
		for unit := range r.Exprs.units() {
			if chained := each != nil && unit == &forEach.Refs; !chained && !yield(unit) {
				return
			}
		}
	})
}

// callAliasReads returns what a value reads only by key through locals that are module calls, including
// what an argument reads with each.value.
func (v *Value) callAliasReads() []CallRead {
	m := v.evaluatedBy()
	if m == nil || v.Expr == nil || v.DependsOn != nil || v.Kind != Variable && len(v.Conditions) > 0 {
		return nil
	}
	units := slices.Values([]*lang.Refs{&v.Expr.Refs})
	var each []CallRead
	if v.Kind == Variable && v.ReadsEachValue() && v.Module.ChainedCall() == nil {
		each = m.eachReads(v.Module.Repetition, units)
	}
	return m.callAliasReads(each, units)
}
