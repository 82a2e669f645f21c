package graph

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Transformer is one pass over the graph that is being built. It indexes by configuration object and costs vertices plus edges.
type Transformer struct {
	Name  string
	Doc   string
	After []*Transformer // must have run before, where they take part
	Run   func(*build) tfdiags.Diagnostics
}

// transformers lists the passes in the order in which they run; a test holds it against their After.
var transformers = []*Transformer{
	configTransformer, stateTransformer, importTransformer, providerTransformer, schemaTransformer, analysisTransformer,
	changesTransformer, referenceTransformer, instancesTransformer, moduleTransformer, replaceTransformer, destroySplitTransformer,
	closeTransformer, targetTransformer, flagTransformer, pruneTransformer, checkTransformer,
}

// build is a tree under construction. What it has besides the tree is needed only until that is finished: no walk sees it.
type build struct {
	op    *Operation
	g     *Graph
	known *Known

	ctx     context.Context // of the calls for schemas
	schemas map[addrs.Provider]*providers.Schema
	imports []*Import
	steps   map[*Resource][]*Step

	// wholeCalls are references to module calls as a whole. See awaitWholeCalls.
	wholeCalls []wholeCall

	unknownFunctions tfdiags.Diagnostics // calls of functions whose provider isn't required; with any, nothing is evaluated

	refRanges *refRanges // nil, except while a cycle is explained
	relaxed   bool       // the order of destruction was contradictory, so that some of it was given up
}

func newBuild(ctx context.Context, op *Operation) *build {
	known := op.Known
	if known == nil {
		known = &Known{}
	}
	return &build{op: op, ctx: ctx, known: known, steps: map[*Resource][]*Step{}, g: &Graph{
		Modules: map[addrs.Module]*Module{}, ByAddr: map[addrs.ConfigResource]*Resource{},
		Providers: map[addrs.AbsProviderConfig]*Provider{},
		Functions: map[FunctionUse]*Provider{}, FunctionKeys: map[FunctionUse]*ProviderKey{},
	}}
}

// Build builds the graph of an operation.
func Build(ctx context.Context, op *Operation) (*Graph, tfdiags.Diagnostics) {
	b := newBuild(ctx, op)
	diags := b.run(transformers)
	if diags.HasErrors() {
		return nil, diags
	}
	return b.g, diags
}

// run runs the transformers and checks that the graph has no cycles.
func (b *build) run(passes []*Transformer) tfdiags.Diagnostics {
	diags := b.op.Config.CheckArguments()
	if diags.HasErrors() {
		return diags
	}
	if b.op.Phase.Applies() {
		diags = nil // reported when the plan was made
	}
	for _, t := range passes {
		diags = diags.Append(t.Run(b))
		if diags.HasErrors() {
			return diags
		}
	}
	return diags.Append(b.cycles())
}
