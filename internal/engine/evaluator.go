package engine

import (
	"context"

	"github.com/zclconf/go-cty/cty/function"

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

	unfinished *unfinished // the instances that must not be read yet; nil without a walk and after it
	visited    *graph.Node // the node whose visit evaluates the expressions of new contexts; see reader

	builtins   map[string]function.Function // the functions of the language
	deprecates bool                         // whether there are deprecated outputs or attributes
}

// visiting returns a copy of the evaluator for the visit of a node; see visited.
func (e *evaluator) visiting(n *graph.Node) *evaluator {
	out := *e
	out.visited = n
	return &out
}
