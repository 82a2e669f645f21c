package graph

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// Transformer adds one kind of node or edge to a graph under construction. Its cost is linear in
// the number of vertices and edges.
type Transformer struct {
	Name  string
	Doc   string
	After []*Transformer // transformers that must run before this one
	// Run does the transformer's work. It uses the context to fetch schemas, if it needs any.
	Run func(context.Context, *build) error
}

// transformers lists the transformers in the order in which they run. A test checks the order
// against After.
var transformers = []*Transformer{
	configTransformer, stateTransformer, importTransformer, providerTransformer, schemaTransformer,
	analysisTransformer, changesTransformer, referenceTransformer, moduleTransformer, siblingsTransformer,
	instancesTransformer, replaceTransformer, destroySplitTransformer, closeTransformer, targetTransformer,
	flagTransformer, pruneTransformer, checkTransformer,
}

// build is a graph under construction, with the data that several transformers share. A transformer
// that needs more data has its own type, which embeds build.
type build struct {
	op    *Operation
	g     *Graph
	known *Known

	providers *providerSet
	early     EarlyKeys  // nil until the first call of earlyKeys
	blocks    *dag.Graph // see refs; nil if the walk visits all blocks and values
	order     *stepOrder // set for an apply

	steps        map[*Resource][]*Step
	imports      []*Import
	functionsOf  map[*Resource][]*Provider // other providers that the block uses: it calls functions, or triggers actions
	actions      []*Resource               // the actions that are validated, invoked or triggered
	wholeCalls   []wholeCall               // references to module calls as a whole; see awaitWholeCalls
	idle         map[*Resource]bool        // whether some instances exist and don't change
	siblingReads map[*Module][]siblingRead // by module call: arguments that read outputs of sibling instances
	between      map[*Module][]*Node       // by such a call in a plan: the nodes between these outputs and arguments

	siblings siblingNeeds // set by findNearest

	refRanges *refRanges // set only while cycles are reported
}

func newBuild(op *Operation) *build {
	known := op.Known
	if known == nil {
		known = &Known{}
	}
	g := &Graph{
		Modules:   map[addrs.Module]*Module{},
		Providers: map[addrs.AbsProviderConfig]*Provider{},
		Functions: map[FunctionUse]ProviderUse{},
		Imports:   map[*Resource][]*Import{},
		Removals:  map[*Resource]*Removal{},
		Unused:    map[*Node]bool{},
		apart:     map[*Node]*apartNodes{},
		finals:    map[place]*Node{},
		instances: map[*Resource]map[addrs.ModuleInstance]map[addrs.InstanceKey]*Node{},
	}
	b := &build{
		op: op, known: known, g: g,
		steps: map[*Resource][]*Step{}, functionsOf: map[*Resource][]*Provider{}, idle: map[*Resource]bool{},
		siblingReads: map[*Module][]siblingRead{}, between: map[*Module][]*Node{},
		siblings: siblingNeeds{map[*Node][]*Value{}, map[*Value][]*Resource{}},
	}
	b.providers = &providerSet{build: b}
	return b
}

// earlyKeys returns the source of the keys that are known before the walk.
func (b *build) earlyKeys() EarlyKeys {
	if b.early == nil {
		b.early = b.op.Early(b.g)
	}
	return b.early
}

// Build builds the graph of an operation.
func Build(ctx context.Context, op *Operation) (*Graph, error) {
	b := newBuild(op)
	if err := b.run(ctx, transformers); err != nil {
		return nil, err
	}
	b.separateInstances()
	return b.g, nil
}

// run checks the arguments of module calls, runs the transformers, and checks that the graph has no
// cycles.
func (b *build) run(ctx context.Context, passes []*Transformer) error {
	if err := b.op.Config.CheckArguments(); err != nil {
		return err
	}
	for _, t := range passes {
		if err := t.Run(ctx, b); err != nil {
			return err
		}
	}
	return b.cycles(ctx)
}
