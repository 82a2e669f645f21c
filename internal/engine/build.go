package engine

import (
	"context"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
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

// build is a graph under construction, and what the walk needs to know of it afterwards.
type build struct {
	ctx   context.Context
	phase *phase
	env   *Env
	cfg   *configs.Config
	state *states.State // what is known before the walk
	plan  *plans.Plan   // what is to be carried out; nil unless the phase has Steps

	mode         plans.Mode
	skipRefresh  bool
	preDestroy   bool // the plan only refreshes what will be destroyed
	variables    map[string]Variable
	targets      []addrs.Target
	excludes     []addrs.Target
	forceReplace map[addrs.AbsInstance]bool
	forceWhole   map[addrs.ConfigResource][]addrs.AbsInstance // those of forceReplace that have no key
	cliImports   []ImportTarget
	generate     bool
	inspection   *Inspection
	moves        *moveResults
	timestamp    time.Time

	graph dag.Graph
	nodes []*Node

	root      *module
	modules   map[addrs.Module]*module
	resources []*resource // in the order of their nodes
	values    []*value
	byConfig  map[addrs.ConfigResource]*resource
	inState   map[addrs.ConfigResource][]*states.Resource
	providers map[addrs.AbsProviderConfig]*providerConfig
	schemas   map[addrs.Provider]*providers.Schema
	imports   []*importTarget
	steps     map[*resource][]*step

	// wholeCalls are references to module calls as a whole. See awaitWholeCalls.
	wholeCalls []wholeCall

	// functions are the providers whose functions a module calls, functionKeys the instances of those with several.
	functions    map[functionUse]*providerConfig
	functionKeys map[functionUse]*keyExpr
	rootNode     *Node

	// refused are the references that name nothing, by what they stand in. While validating, an expression that has some doesn't keep
	// the rest of its node from being evaluated; in all other phases it does, and nothing is listed here.
	refused          map[unit]tfdiags.Diagnostics
	unknownFunctions tfdiags.Diagnostics // calls of functions whose provider isn't required; with any, nothing is evaluated

	places  *referencePlaces // nil, except while a cycle is explained
	relaxed bool             // the order of destruction was contradictory, so that some of it was given up

	*analysis
}

// Known keeps what an operation finds out about a configuration for those that follow. The zero value knows nothing.
type Known struct{ analysis *analysis }

// analysis is what is known of the expressions of configuration objects, by pointer. It is the same for every graph of a
// configuration.
type analysis struct {
	resourceExprs map[bodyKey]*resourceExprs
	exprs         map[any]*lang.Expr
	callArgs      map[*configs.ModuleCall]map[string]*lang.Expr
}

func newAnalysis() *analysis {
	return &analysis{map[bodyKey]*resourceExprs{}, map[any]*lang.Expr{},
		map[*configs.ModuleCall]map[string]*lang.Expr{}}
}

// known gives the analysis that the operation begins with.
func (b *build) known() *analysis {
	switch k := b.env.Known; {
	case b.analysis != nil:
		return b.analysis
	case k == nil:
		return newAnalysis()
	default:
		if k.analysis == nil {
			k.analysis = newAnalysis()
		}
		return k.analysis
	}
}

// transform runs the passes and checks the result.
func (b *build) transform() tfdiags.Diagnostics { return b.runPasses(transformers) }

func (b *build) runPasses(passes []*Transformer) tfdiags.Diagnostics {
	b.modules = map[addrs.Module]*module{}
	b.byConfig = map[addrs.ConfigResource]*resource{}
	b.providers = map[addrs.AbsProviderConfig]*providerConfig{}
	b.analysis = b.known()
	b.steps = map[*resource][]*step{}
	b.functions, b.functionKeys = map[functionUse]*providerConfig{}, map[functionUse]*keyExpr{}
	diags := b.cfg.CheckArguments()
	if diags.HasErrors() {
		return diags
	}
	if b.phase.steps {
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

// functionUse is a provider function in a module.
type functionUse struct {
	module *module
	name   addrs.ProviderFunction
}
