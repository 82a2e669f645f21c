package engine

import (
	"context"

	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/engine/graph"
)

// evaluator evaluates the expressions of a configuration during a walk. Each value is written by
// its own node and read by nodes that wait for that node, so values need no lock.
type evaluator struct {
	op        *operation
	graph     *graph.Graph
	out       *results
	modules   moduleTree
	providers *providerPool
	calls     *calls

	// startForFunction starts a provider for a function that the configuration doesn't call, and
	// started holds the result; both are nil during a walk.
	startForFunction func(context.Context, graph.FunctionUse) (*graph.Provider, error)
	started          map[graph.FunctionUse]*graph.Provider

	// early evaluates values and modules when they are first read, before there are any results of
	// resources; nil during a walk.
	early *earlyValues

	unfinished *unfinished // the instances that must not be read yet; nil before and after a walk
	visited    *graph.Node // for new contexts; see evalContext

	builtins   map[string]function.Function // the functions of the language
	deprecates bool                         // there are deprecated outputs or attributes
}

// visiting returns the evaluator whose new contexts belong to the visit of a node.
func (e *evaluator) visiting(n *graph.Node) *evaluator {
	out := *e
	out.visited = n
	return &out
}
