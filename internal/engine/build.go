package engine

import (
	"context"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang"
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
	op    *graphOp
	g     *tree
	known *analysis

	ctx     context.Context // of the calls for schemas
	schemas map[addrs.Provider]*providers.Schema
	imports []*importTarget
	steps   map[*resource][]*step

	// wholeCalls are references to module calls as a whole. See awaitWholeCalls.
	wholeCalls []wholeCall

	unknownFunctions tfdiags.Diagnostics // calls of functions whose provider isn't required; with any, nothing is evaluated

	places  *referencePlaces // nil, except while a cycle is explained
	relaxed bool             // the order of destruction was contradictory, so that some of it was given up
}

func newBuild(ctx context.Context, op *graphOp) *build {
	return &build{op: op, ctx: ctx, known: op.known.expressions(), steps: map[*resource][]*step{}, g: &tree{
		modules: map[addrs.Module]*module{}, byConfig: map[addrs.ConfigResource]*resource{},
		providers: map[addrs.AbsProviderConfig]*providerConfig{},
		functions: map[functionUse]*providerConfig{}, functionKeys: map[functionUse]*keyExpr{},
	}}
}

// Known keeps what an operation finds out about a configuration for those that follow. The zero value knows nothing.
type Known struct{ analysis *analysis }

// analysis is what is known of the expressions of configuration objects, by pointer. It is the same for every graph of a
// configuration.
type analysis struct {
	resourceExprs map[bodyKey]*resourceExprs
	exprs         map[hcl.Expression]*lang.Expr
	callArgs      map[*configs.ModuleCall]map[string]*lang.Expr
}

func newAnalysis() *analysis {
	return &analysis{map[bodyKey]*resourceExprs{}, map[hcl.Expression]*lang.Expr{},
		map[*configs.ModuleCall]map[string]*lang.Expr{}}
}

// expressions gives the analysis that an operation begins with.
func (k *Known) expressions() *analysis {
	switch {
	case k == nil:
		return newAnalysis()
	case k.analysis == nil:
		k.analysis = newAnalysis()
	}
	return k.analysis
}

// transform runs the passes and checks the result.
func (b *build) transform() tfdiags.Diagnostics { return b.runPasses(transformers) }

func (b *build) runPasses(passes []*Transformer) tfdiags.Diagnostics {
	diags := b.op.cfg.CheckArguments()
	if diags.HasErrors() {
		return diags
	}
	if b.op.phase.Applies() {
		diags = nil // planning said them
	}
	for _, t := range passes {
		diags = diags.Append(t.Run(b))
		if diags.HasErrors() {
			return diags
		}
	}
	return diags.Append(b.cycles())
}
