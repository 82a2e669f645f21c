package graph

import (
	"context"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// How Steps wait for instances
//
// The references of the configuration form a graph of blocks and values, which is the same for a
// plan and its apply (build.blocks). An apply does not walk that graph. It walks one in which each
// Step waits for the places that its instance reads; see reads.Places. A place that is an instance is
// its Step. Any other place, such as a value in one module instance or all instances of a resource,
// gets a node that waits for what is read there, if that is more than one node. So if an instance
// fails, only the instances that read it, directly or through values, are skipped.
//
// The walk evaluates values, and decides the instances of resources and module calls, when a Step
// first reads them. By then, everything that they read is final. Nodes of values and checks take
// part only if they have to be evaluated even if no Step reads them.
//
// An instance without a change has no Step, and its value comes from the state. Its node passes on
// the order: it waits for what the instance itself would wait for if it had a Step.
//
// The keys of references come from the plan, which records with each change which instances its
// block reads (plans.InstanceChange.Reads), and from what is known before the walk (KnownKeys). A
// Step waits for a whole resource or module call if a key is not known.

var instancesTransformer = &Transformer{
	Name:  "Instances",
	Doc:   "makes Steps wait for the instances that they need",
	After: []*Transformer{changesTransformer, referenceTransformer, moduleTransformer, siblingsTransformer},
	Run: func(_ context.Context, b *build) error {
		if !b.op.Phase.Applies() {
			return nil
		}
		b.setEach()
		b.order = newStepOrder(b)
		return b.order.connectAll()
	},
}

// refs returns the graph of the references between blocks and values.
func (b *build) refs() *dag.Graph {
	if b.blocks != nil {
		return b.blocks
	}
	return &b.g.Edges
}

// stepOrder builds the graph that an apply walks.
type stepOrder struct {
	b     *build
	reads *reads.Places
	nodes map[reads.Place]*reads.Node // by place, its node; nil if nothing in the place has to be awaited
	// applied holds, for resources with many instances, the Steps that create, update or read an object.
	applied map[*reads.Resource]map[objectIn]*reads.Step
	// within holds the nodes of these Steps for resources in repeated modules.
	within  map[*reads.Resource]reads.Contents[*reads.Node]
	todo    []openPlace
	cycles  tfdiags.Diagnostics
	visited map[*reads.Node]bool // see visit
}

// openPlace is a node that does not wait for the places in reads yet.
type openPlace struct {
	n     *reads.Node
	reads []reads.Read
}

// objectIn identifies an object of a resource.
type objectIn struct {
	in  addrs.ModuleInstance
	key addrs.InstanceKey
}

func newStepOrder(b *build) *stepOrder {
	o := &stepOrder{b: b, nodes: map[reads.Place]*reads.Node{}, applied: map[*reads.Resource]map[objectIn]*reads.Step{},
		within: map[*reads.Resource]reads.Contents[*reads.Node]{}, visited: map[*reads.Node]bool{}}
	blocks := b.g.Edges
	b.blocks, b.g.Edges = &blocks, dag.Graph{}
	for _, n := range b.g.Nodes {
		b.g.Edges.Add()
		if n.Kind == reads.KindStep || n.Kind == reads.KindProviderClose {
			for _, id := range blocks.Needs(n.ID) { // providers
				b.g.Edges.Connect(n.ID, id)
			}
		}
	}
	o.reads = b.source().OrderingSteps(b.op.Plan)
	return o
}

// stepOf returns the Step that creates, updates or reads an object, or nil.
func (o *stepOrder) stepOf(r *reads.Resource, in addrs.ModuleInstance, key addrs.InstanceKey) *reads.Step {
	const few = 4
	steps := o.b.steps[r]
	if len(steps) <= few {
		for _, s := range steps {
			if s.Part == reads.StepApply && s.Change.Addr.Module == in && s.Change.Addr.Key == key {
				return s
			}
		}
		return nil
	}
	byObject := o.applied[r]
	if byObject == nil {
		byObject = make(map[objectIn]*reads.Step, len(steps))
		o.applied[r] = byObject
		for _, s := range steps {
			if s.Part == reads.StepApply {
				byObject[objectIn{s.Change.Addr.Module, s.Change.Addr.Key}] = s
			}
		}
	}
	return byObject[objectIn{in, key}]
}

// stepsWithin returns the nodes of the Steps that create, update or read objects of a resource in, or
// within, a module instance.
func (o *stepOrder) stepsWithin(r *reads.Resource, in addrs.ModuleInstance) []*reads.Node {
	var all []*reads.Node
	if !r.Module.Repeated() {
		for _, s := range o.b.steps[r] {
			if s.Part == reads.StepApply {
				all = append(all, s.Node)
			}
		}
		return all
	}
	byModule := o.within[r]
	if byModule == nil {
		byModule = reads.Contents[*reads.Node]{}
		o.within[r] = byModule
		for _, s := range o.b.steps[r] {
			if s.Part == reads.StepApply {
				byModule.Add(s.Change.Addr.Module, s.Node)
			}
		}
	}
	return byModule[in]
}

// connectAll makes all nodes that the walk has to visit wait for what they read. It returns an error
// for values that depend on themselves, because a file or an environment variable has changed since
// the plan. All other cycles are found at the end.
func (o *stepOrder) connectAll() error {
	for _, n := range slices.Clone(o.b.g.Nodes) { // the loop adds nodes
		switch s := n.Step(); {
		case s != nil && !s.Removes():
			o.awaitInstance(n, s.Resource, s.Change)
		case n.Kind == reads.KindProvider, n.Kept && n.Kind.IsValue() && !o.b.op.Phase.Destroys():
			o.await(n, o.reads.Reads(reads.Place{Node: n}))
		}
	}
	for len(o.todo) > 0 {
		last := o.todo[len(o.todo)-1]
		o.todo = o.todo[:len(o.todo)-1]
		o.await(last.n, last.reads)
	}
	return o.cycles.Err()
}

// await makes a node wait for places.
func (o *stepOrder) await(n *reads.Node, list []reads.Read) {
	for _, read := range list {
		o.b.after(n, o.node(read.Of))
	}
}

// awaitInstance makes the node of an instance wait for what the instance reads.
func (o *stepOrder) awaitInstance(n *reads.Node, r *reads.Resource, change *plans.InstanceChange) {
	if r.Config != nil && r.Exprs.Repetition.Repeats() && len(r.ByKey) == 0 {
		o.b.after(n, o.node(reads.Place{Node: r.Node, In: change.Addr.Module, Part: reads.BaseParts})) // like most instances
		return
	}
	o.await(n, o.ofInstance(r, change))
}

// ofInstance returns what an instance of a resource reads. change is its planned change.
func (o *stepOrder) ofInstance(r *reads.Resource, change *plans.InstanceChange) []reads.Read {
	if r.Config == nil {
		return nil
	}
	out := o.reads.OfChange(r, change)
	if !r.Exprs.Repetition.Repeats() { // no other instance could share the node of the common part
		out = append(out[1:], o.reads.Reads(out[0].Of)...)
	}
	return out
}

// node returns the node after which everything in a place is final, or nil if nothing there has to
// be awaited.
func (o *stepOrder) node(p reads.Place) *reads.Node {
	r := p.Node.Resource
	switch {
	case r != nil && p.Part == reads.OnePart:
		if s := o.stepOf(r, p.In, p.Key); s != nil {
			return s.Node
		}
	case p.Node.Kind == reads.KindProvider:
		return p.Node
	case p.Part != reads.OnePart && p.Node.Module != nil && !p.Node.Module.Repeated():
		p.In = p.Node.Module.Path.UnkeyedInstance()
	}
	n, known := o.nodes[p]
	switch {
	case n == searching:
		o.cycles = o.cycles.Append(tfdiags.Errorf("Cycle: "+p.Name(), "%s depends on itself. It didn't when the plan "+
			"was made: probably a file or an environment variable has changed. Create a new plan.", p.Name()))
		return nil
	case known:
		return n
	}
	o.nodes[p] = searching
	switch {
	case r != nil && r.Addr.Resource.Mode == addrs.Ephemeral && !r.Opened && r.Config != nil:
		n = o.visit(r.Node) // opens all objects
	case r != nil && p.Part == reads.OnePart:
		n = o.unchanged(r, p)
	case r != nil && p.Part == reads.AllParts:
		n = o.b.join(p, o.wholeOf(r, p))
	case p.Node.ClosesModule():
		n = o.b.join(p, o.contentOf(p))
	default:
		n = o.b.join(p, o.nodesOf(o.reads.Reads(p)))
	}
	o.nodes[p] = n
	return n
}

// searching stands for the node of a place while the nodes of what it reads are searched for.
var searching = &reads.Node{}

// visit makes the walk visit the node of a block or value, after everything that it refers to, and
// returns the node.
func (o *stepOrder) visit(n *reads.Node) *reads.Node {
	if !o.visited[n] && !n.Kept {
		o.visited[n] = true
		o.todo = append(o.todo, openPlace{n, o.reads.Along(reads.Place{Node: n}, nil)})
	}
	return n
}

// wholeOf returns the nodes that a reader of all instances of a resource waits for. If some of them
// don't change, or if there are none, it also waits for everything that the block refers to.
func (o *stepOrder) wholeOf(r *reads.Resource, p reads.Place) []*reads.Node {
	steps := o.stepsWithin(r, p.In)
	if len(steps) > 0 && !o.b.idle[r] {
		return steps
	}
	if r.Config != nil && !r.Exprs.Repetition.Repeats() && !r.Module.Repeated() {
		if one := o.node(reads.InstancePlace(r, p.In, addrs.NoKey)); one != nil {
			return []*reads.Node{one}
		}
	}
	if len(steps) == 0 && !o.b.idle[r] && r.Config != nil && !r.Module.Repeated() {
		return []*reads.Node{o.visit(r.Node)} // decides that there are no instances
	}
	rest := o.b.node(reads.KindBarrier, nil, p.Name()+" (unchanged)", nil)
	rest.Resource = r
	o.todo = append(o.todo, openPlace{rest, o.reads.Along(p, nil)})
	return append(slices.Clip(steps), rest)
}

// contentOf returns the nodes that a reader of everything in a module waits for. It includes the nodes
// of values whose conditions may fail.
func (o *stepOrder) contentOf(p reads.Place) []*reads.Node {
	var out []*reads.Node
	for _, read := range o.reads.Along(p, nil) {
		v := read.Of.Node.Value()
		if v != nil && len(v.Conditions) > 0 && !v.Module.ReadsSiblings() {
			out = append(out, o.visit(v.Node))
		}
		out = append(out, o.node(read.Of))
	}
	return out
}

// unchanged returns the node of an instance that doesn't change, or nil if the run doesn't know the
// instance. For data sources, the plan lists only the instances that the apply reads; all others are
// in the state.
func (o *stepOrder) unchanged(r *reads.Resource, p reads.Place) *reads.Node {
	addr := p.Instance()
	change := o.b.op.Plan.Changes.Instance(addr, addrs.NotDeposed)
	data := r.Addr.Resource.Mode == addrs.Data && o.b.op.Prior.Instance(addr) != nil
	if change != nil && change.Action != plans.NoOp || change == nil && !data {
		return nil
	}
	if change == nil {
		change = &plans.InstanceChange{Addr: addr, Action: plans.NoOp}
	}
	n := o.b.node(reads.KindBarrier, nil, addr.String()+" (unchanged)", nil)
	n.Resource = r
	o.todo = append(o.todo, openPlace{n, o.ofInstance(r, change)})
	return n
}

// nodesOf returns the nodes of places.
func (o *stepOrder) nodesOf(list []reads.Read) []*reads.Node {
	out := make([]*reads.Node, 0, len(list))
	for _, read := range list {
		if n := o.node(read.Of); n != nil {
			out = append(out, n)
		}
	}
	return out
}

// join returns a node that waits for other nodes. If there is only one, it returns that node, and nil
// if there are none.
func (b *build) join(p reads.Place, list []*reads.Node) *reads.Node {
	list = slices.DeleteFunc(list, func(n *reads.Node) bool { return n == nil })
	if len(list) > 0 && !slices.ContainsFunc(list, func(n *reads.Node) bool { return n != list[0] }) {
		return list[0]
	}
	if len(list) == 0 {
		return nil
	}
	n := b.node(reads.KindPlace, nil, p.Name(), p.Node.Range)
	b.after(n, list...)
	return n
}

// idleData reports whether a resource is a data source with results that are not read again.
func (b *build) idleData(r *reads.Resource) bool {
	return r.Addr.Resource.Mode == addrs.Data && len(r.Prior) > 0 && r.Config != nil && r.Config.Check == nil &&
		b.op.Phase == phase.Apply
}

// setEach sets what decides the instances of module calls before everything that their for_each refers
// to is final.
func (b *build) setEach() {
	if b.op.Phase != phase.Apply {
		return
	}
	if b.op.Partial() || b.op.Early == nil {
		return
	}
	usesEach := b.providersUseEach()
	for _, m := range b.g.Modules {
		if m.Parent == nil || usesEach[m] {
			continue
		}
		switch each := m.FindEach(); {
		case each == nil:
		case each.Call != nil && m.ArgumentsReadOnlyEach(each.Call),
			each.Call == nil && each.Of.Config.Check == nil && each.Of.Addr.Resource.Mode != addrs.Ephemeral:
			m.Each = each
		}
	}
}

// providersUseEach returns the module calls whose each.key or each.value selects a provider.
func (b *build) providersUseEach() map[*reads.Module]bool {
	out := map[*reads.Module]bool{}
	for _, r := range b.g.Resources {
		if key := r.ProviderKey; key != nil && key.Call != "" {
			out[key.Module.Calls[key.Call]] = true
		}
	}
	return out
}
