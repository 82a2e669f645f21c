package graph

import (
	"context"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
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
// that needs more data has its own type, with a field for the build.
type build struct {
	op    *Operation
	g     *Graph
	known *Known

	providers *providerSet
	early     reads.KnownKeys // nil until the first call of earlyKeys
	blocks    *dag.Graph      // see refs; nil if the walk visits all blocks and values
	order     *stepOrder      // set for an apply

	steps       map[*reads.Resource][]*reads.Step
	imports     []*reads.Import
	functionsOf map[*reads.Resource][]*reads.Provider // other providers that the block uses: it calls functions, or triggers actions
	actions     []*reads.Resource                     // the actions that are validated, invoked or triggered
	wholeCalls  []wholeCall                           // references to module calls as a whole; see awaitWholeCalls
	idle        map[*reads.Resource]bool              // whether some instances exist and don't change
	between     map[*reads.Module][]*reads.Node       // by a call with Siblings, in a plan: the nodes between these outputs and arguments

	siblings siblingNeeds // set by findNearest

	refRanges *refRanges // set only while cycles are reported
}

func newBuild(op *Operation) *build {
	known := op.Known
	if known == nil {
		known = &Known{}
	}
	g := &Graph{
		Tree: reads.Tree{
			Modules:  map[addrs.Module]*reads.Module{},
			Imports:  map[*reads.Resource][]*reads.Import{},
			Siblings: map[*reads.Module][]reads.SiblingRead{},
		},
		Providers: map[addrs.AbsProviderConfig]*reads.Provider{},
		Functions: map[FunctionUse]reads.ProviderUse{},
		Removals:  map[*reads.Resource]*Removal{},
		Unused:    map[*reads.Node]bool{},
		apart:     map[*reads.Node]*apartNodes{},
		finals:    map[reads.Place]*reads.Node{},
		instances: map[*reads.Resource]map[addrs.ModuleInstance]map[addrs.InstanceKey]*reads.Node{},
	}
	b := &build{
		op: op, known: known, g: g,
		steps: map[*reads.Resource][]*reads.Step{}, functionsOf: map[*reads.Resource][]*reads.Provider{}, idle: map[*reads.Resource]bool{},
		between:  map[*reads.Module][]*reads.Node{},
		siblings: siblingNeeds{map[*reads.Node][]*reads.Value{}, map[*reads.Value][]*reads.Resource{}},
	}
	b.providers = &providerSet{b: b}
	return b
}

// earlyKeys returns the source of the keys that are known before the walk.
func (b *build) earlyKeys() reads.KnownKeys {
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

// node adds a node to the graph and returns it.
func (b *build) node(kind reads.Kind, m *reads.Module, name string, rng *hcl.Range) *reads.Node {
	n := &reads.Node{ID: b.g.Edges.Add(), Kind: kind, Name: name, Range: rng, Module: m}
	b.g.Nodes = append(b.g.Nodes, n)
	return n
}

// after makes n wait for the nodes in others. It ignores nil nodes and n itself.
func (b *build) after(n *reads.Node, others ...*reads.Node) {
	for _, o := range others {
		if o != nil && o != n {
			b.g.Edges.Connect(n.ID, o.ID)
			b.refRanges.record(n.ID, o.ID)
		}
	}
}

// source returns what the places of the run are found from.
func (b *build) source() reads.Source {
	from := reads.Source{Tree: &b.g.Tree, Refs: b.refs(), Prior: b.op.Prior, Targets: b.op.Targets, Excludes: b.op.Excludes,
		Partial: b.op.Partial()}
	if b.op.Early != nil {
		from.Early = b.earlyKeys()
	}
	return from
}
