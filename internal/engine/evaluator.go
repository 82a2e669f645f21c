package engine

import (
	"context"

	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
)

// evaluator evaluates the expressions of a configuration during a walk. Each value is written by
// its own node and read only by nodes that wait for that node, so no lock is needed.
type evaluator struct {
	op        *operation
	graph     *graph.Graph
	out       *results
	modules   moduleTree
	providers *providerPool
	calls     *calls

	// startForFunction starts a provider for a function that the configuration doesn't call, and
	// started holds the providers started that way. Both are nil during a walk.
	startForFunction func(context.Context, graph.FunctionUse) (*graph.Provider, error)
	started          map[graph.FunctionUse]*graph.Provider

	// early evaluates values and modules on their first use, before any resource has a value. It is
	// nil during a walk.
	early *earlyValues

	stored     *storedCalls // what the state says about module calls; nil outside of a walk
	unfinished *unfinished  // the instances that must not be read yet; nil without a walk and after it
	visited    *graph.Node  // the node whose visit evaluates the expressions of new contexts; see reader

	builtins   map[string]function.Function // the functions of the language
	deprecates bool                         // whether there are deprecated outputs or attributes
}

// moduleAt returns a module instance, or nil if it doesn't exist or isn't determined yet.
func (e *evaluator) moduleAt(m *graph.Module, addr addrs.ModuleInstance) *moduleInstance {
	if e.early != nil {
		return e.early.moduleAt(m, addr)
	}
	return e.modules.at(m, addr)
}

// modulesOf returns the instances of a module, or false if they are not known before the walk.
func (e *evaluator) modulesOf(m *graph.Module) ([]*moduleInstance, bool) {
	if e.early != nil {
		return e.early.allInstances(m)
	}
	return e.modules.of(m), true
}

// callsOf returns the instances of a module call, or nil if they aren't determined yet.
func (e *evaluator) callsOf(m *graph.Module, parent *moduleInstance) *callInstances {
	if e.early != nil && parent.calls[m.CallSlot] == nil {
		e.early.expandCall(m, parent)
	}
	return parent.calls[m.CallSlot]
}

// expansionOf returns the instances of a resource in a module instance, or nil if they aren't
// determined yet.
func (e *evaluator) expansionOf(r *graph.Resource, in *moduleInstance) *expansion {
	switch {
	case in == nil:
		return nil
	case e.early != nil:
		return e.early.expansion(r, in)
	}
	return in.resources[r.Slot]
}

// visiting returns a copy of the evaluator for the visit of a node; see visited.
func (e *evaluator) visiting(n *graph.Node) *evaluator {
	out := *e
	out.visited = n
	return &out
}
