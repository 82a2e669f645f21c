package reads

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
// blocks and values that read local.outs["x"] wait for these outputs of that module instance, and
// evaluate the local for themselves, with only that instance. A for_each that is such a local is one
// that is the call; see chain.go.

// CallAlias describes a local that is a module call.
type CallAlias struct {
	Call *Module
	// Outputs are the names of the outputs that each element uses. It is nil if an element is an
	// object with all outputs of a module instance.
	Outputs []string
}

// CallAlias returns the module call that the value is an alias of, or nil.
func (v *Value) CallAlias() *CallAlias {
	if v == nil {
		return nil
	}
	return v.callAlias
}

// findCallAlias finds the module call that the value is an alias of. It follows at most the given
// number of locals, because locals can form a cycle.
func (v *Value) findCallAlias(most int) *CallAlias {
	if v == nil || v.Kind != Local || most == 0 {
		return nil
	}
	ref, list := v.aliased()
	if ref == nil || list {
		return nil
	}
	var out *CallAlias
	switch of := v.Module.Named(ref.Subject); {
	case of.IsWholeCall() && of.Call.Repetition.Repeats():
		out = &CallAlias{Call: of.Call}
	case of.Call == nil:
		out = of.Value.findCallAlias(most - 1)
	}
	each, loop := v.Expr.Expression.(*hclsyntax.ForExpr)
	switch {
	case out == nil || !loop:
		return out
	case out.Call.Repetition.ForEach == nil:
		return nil
	case out.Outputs == nil:
		out.Outputs = out.Call.outputsIn(pathsFrom(each))
		if out.Outputs == nil { // an element may be an object that contains a whole module instance
			out.Outputs = slices.Sorted(maps.Keys(out.Call.Outputs))
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

// elementOutputs returns the reads of elements of the local that is a module call. paths are what follows the
// key in each reference.
func (v *Value) elementOutputs(refs lang.Instances, paths iter.Seq[hcl.Traversal]) []KeyedRead {
	outputs := v.callAlias.Outputs
	if outputs == nil {
		outputs = v.callAlias.Call.outputsIn(paths)
	}
	return KeyedRead{Call: v.callAlias.Call, Via: v, Refs: refs}.ofOutputs(outputs)
}

// pathsAfter returns what follows the key in each reference such as local.NAME["x"].OUTPUT. It returns
// an empty path for a computed index.
func pathsAfter(local addrs.Referenceable, unit *lang.Refs) iter.Seq[hcl.Traversal] {
	return func(yield func(hcl.Traversal) bool) {
		for _, ref := range unit.Objects {
			if ref.Subject == local && !yield(ref.Remaining[min(1, len(ref.Remaining)):]) {
				return
			}
		}
	}
}

// readsByCallAlias returns what the instances of a block read only by key through locals that are module
// calls. It returns nil if the readers of such locals wait for the whole call in this run, and for blocks
// whose instances read one another.
func (run Run) readsByCallAlias(r *Resource) []KeyedRead {
	if !run.awaitsVia() || r.Exprs.ownInstances(r.Addr.Resource) != nil {
		return nil
	}
	return evaluated(callsOnly(r.Module.readsVia(nil, r.Exprs.Units())))
}

// awaitsVia reports whether the readers of locals that are module calls may wait for single instances
// in this run: in a plan or an apply without targets or exclusions.
func (run Run) awaitsVia() bool {
	return run.Phase.Waits() && !run.Partial && run.Early
}

// evaluated returns the reads through locals with everything that the evaluation of the locals needs:
// all outputs that an element may use. It leaves out locals that can't be evaluated with only some of
// their elements: those of which some expressions need a list and others don't, and new maps of which
// an expression needs a list.
func evaluated(reads []KeyedRead) []KeyedRead {
	if len(reads) == 0 {
		return nil
	}
	var out []KeyedRead
	first, whole := map[*Value]lang.Selection{}, map[*Value]bool{}
	for _, read := range reads {
		how, list := read.Refs.FromList()
		before, again := first[read.Via]
		whole[read.Via] = whole[read.Via] || again && how != before || list && read.Via.CallAlias().Outputs != nil
		first[read.Via] = how
		if read.Via.CallAlias().Outputs == nil {
			read.Output = nil
		}
		if last := len(out) - 1; last < 0 || read.Output != nil || !read.sameRefs(out[last]) {
			out = append(out, read)
		}
	}
	return slices.DeleteFunc(out, func(read KeyedRead) bool { return whole[read.Via] })
}

// addReadsVia adds to the CallReads of a value what it reads only by key through locals that are
// module calls. It leaves out calls that the value also refers to as a whole, and the call that the
// value is an argument of.
func (run Run) addReadsVia(v *Value) {
	if !run.awaitsVia() || v.Output != nil && v.Output.DependsOn != nil {
		return
	}
	for _, read := range evaluated(v.callAliasReads()) {
		name := read.Call.Call.Name
		if _, only := v.Expr.Refs.CallInstances(name); !only && v.Expr.Refs.NameCall(name) {
			continue
		}
		if read.Call != v.Module {
			v.CallReads = append(v.CallReads, read)
		}
	}
}

// callReads returns the single instances of module calls that the block, value or module call of a node
// reads.
func (n *Node) callReads() []KeyedRead {
	if n.Resource != nil {
		return n.Resource.Calls()
	}
	switch of := n.Object.(type) {
	case *Value:
		return of.CallReads
	case *Node:
		return of.callReads()
	}
	return nil
}

// ReadsVia returns the references with which the block or value of a node reads single instances of a
// module call through the local v, other than with each.value. It returns nil if there are none, or if
// n is nil.
func (n *Node) ReadsVia(v *Value) lang.Instances {
	if n == nil {
		return nil
	}
	var out lang.Instances
	var last KeyedRead
	for _, read := range n.callReads() {
		if read.Via == v && !read.ByEach() {
			if !read.sameRefs(last) { // a reference may read several outputs
				out = append(out, read.Refs...)
			}
			last = read
		}
	}
	return out
}

// sameRefs reports whether two reads are of outputs of the same references.
func (r KeyedRead) sameRefs(other KeyedRead) bool {
	return len(other.Refs) > 0 && &r.Refs[0] == &other.Refs[0]
}

// callAliasReads returns what a value reads only by key through locals that are module calls. It leaves
// out what an argument reads with each.value; see addChainedCall.
func (v *Value) callAliasReads() []KeyedRead {
	if v.DependsOn != nil {
		return nil
	}
	return callsOnly(v.readsVia())
}

// callsOnly removes the reads of resources from a list.
func callsOnly(list []KeyedRead) []KeyedRead {
	return slices.DeleteFunc(list, func(read KeyedRead) bool { return !read.isCall() })
}
