package engine

import (
	"context"

	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
)

// evaluator evaluates the expressions of a configuration during a walk. In each module
// instance, a value is written by its first reader (lazy.go) or, while validating, by its own node. The
// other readers wait for it, so no lock is needed.
type evaluator struct {
	op        *operation
	graph     *graph.Graph
	out       *results
	modules   moduleTree
	providers *providerPool
	calls     *calls

	// startForFunction starts a provider for a function that the configuration doesn't call, and
	// started holds the providers started that way. Both are nil during a walk.
	startForFunction func(context.Context, graph.FunctionUse) (*reads.Provider, error)
	started          map[graph.FunctionUse]*reads.Provider

	// early evaluates values and modules on their first use, before any resource has a value. It is
	// nil during a walk.
	early *earlyValues

	// lazyCtx is the context of a walk that evaluates values when they are first read; see lazy.go. It is
	// nil while validating.
	lazyCtx context.Context
	over    bool // the walk is over: what was not needed during the walk stays unknown

	stored     *storedCalls // what the state says about module calls; nil outside of a walk
	unfinished *unfinished  // the instances that must not be read yet; nil without a walk and after it
	reader                  // who evaluates the expressions of new contexts
	hasSlot    bool         // the evaluation may be part of an operation that already has a call slot
	slotOf     callee       // the provider for which the operation of the evaluation has a call slot; nil for none

	builtins   map[string]function.Function // the functions of the language
	deprecates bool                         // whether there are deprecated outputs or attributes
}

// applies reports whether the evaluator belongs to the walk of an apply.
func (e *evaluator) applies() bool { return e.lazyCtx != nil && e.op.Phase.Applies() }

// valuesReadSingly reports whether values may read single instances of resources that aren't complete.
func (e *evaluator) valuesReadSingly() bool {
	return e.applies() || e.lazyCtx != nil && e.op.Phase == phase.Plan && !e.op.Partial()
}

// onDemand reports whether instances are decided on first use.
func (e *evaluator) onDemand() bool { return e.lazyCtx != nil && e.op.Phase != phase.Plan }

// moduleAt returns a module instance, or nil if it doesn't exist or isn't determined yet.
func (e *evaluator) moduleAt(m *reads.Module, addr addrs.ModuleInstance) *moduleInstance {
	switch {
	case e.early != nil:
		return e.early.moduleAt(m, addr)
	case e.onDemand() && !e.over:
		in, _ := e.moduleIn(m, addr)
		return in
	}
	return e.modules.at(m, addr)
}

// modulesOf returns the instances of a module, as far as they are determined.
func (e *evaluator) modulesOf(m *reads.Module) []*moduleInstance {
	if e.early == nil && (e.over || !e.onDemand()) {
		return e.modules.of(m)
	}
	out, _ := e.within(m, addrs.RootInstance)
	return out
}

// within returns the instances of a module that are in, or within, a module instance. It returns false if
// some of them are not known or not determined yet.
func (e *evaluator) within(m *reads.Module, at addrs.ModuleInstance) (out []*moduleInstance, known bool) {
	switch {
	case m.Parent == nil:
		return e.modules.of(m), true
	case at.Module() == m.Path:
		if in := e.moduleAt(m, at); in != nil {
			return []*moduleInstance{in}, true
		}
		return nil, true
	}
	parents, known := e.within(m.Parent, at)
	for _, parent := range parents {
		calls := e.callsOf(m, parent)
		known = known && calls != nil && calls.mode != repeatUnknown
		if calls != nil {
			out = append(out, calls.of...)
		}
	}
	return out, known
}

// callsOf returns the instances of a module call, or nil if they aren't determined yet.
func (e *evaluator) callsOf(m *reads.Module, parent *moduleInstance) *callInstances {
	out, _ := e.callsIn(m, parent)
	return out
}

// expansionOf returns the instances of a resource in a module instance, or nil if they aren't
// determined yet.
func (e *evaluator) expansionOf(r *reads.Resource, in *moduleInstance) *expansion {
	if in == nil {
		return nil
	}
	x, _ := e.expansionIn(r, in)
	return x
}

// visiting returns a copy of the evaluator for the visit of a node; see visited.
func (e *evaluator) visiting(n *reads.Node) *evaluator {
	out := *e
	out.reader = readerAt(n)
	return &out
}
