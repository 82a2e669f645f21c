package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

// How a module call can read its own instances
//
// An argument of a module call may read outputs of other instances of the same call, as in
// input = module.step[each.value.after].out. By block, that is a cycle: the argument needs the
// output, which needs the argument. So every node on the way from such an output to the argument has
// a Part for each instance of the call, which does the work of the node in that module instance.
// The Parts of an instance wait for each other as the nodes would, and the Part of the argument
// waits for those of the outputs in the instances that it reads. The node itself comes after all of
// its Parts and does the rest, such as planning to delete what is no longer declared.
//
// The keys are evaluated before the walk (EarlyKeys), so they can't depend on resources. There is
// no edge from the argument's node to that of the output. Everything that looks at resources
// instead of instances, such as the dependencies in the state, therefore leaves these reads out.

var feedTransformer = &Transformer{
	Name:  "Feed",
	Doc:   "splits the nodes of module calls that read their own instances into Parts, one for each instance",
	After: []*Transformer{referenceTransformer, moduleTransformer},
	Run: func(_ context.Context, b *build) error {
		if b.op.Phase == PhaseValidate {
			return nil
		}
		for _, path := range sortedModules(b.g.Modules) {
			if m := b.g.Modules[path]; len(b.feeds[m]) > 0 {
				b.splitCall(m)
			}
		}
		return nil
	},
}

// feed is an argument of a module call that reads outputs of other instances of the call.
type feed struct {
	to   *Value
	read CallRead
}

// Region is a module call that reads its own instances, with the nodes that have Parts.
type Region struct {
	Call  *Module
	at    map[addrs.ModuleInstance]int // positions of the instances of the call
	list  []addrs.ModuleInstance
	depth int               // of these instances
	parts map[*Node][]*Node // by position

	sources    [][]source          // by position, what the arguments read
	behind     map[*Value]Fed      // by output that is read
	outputsFor map[*Value][]*Value // by argument, the outputs that it reads
	fed        map[*Node][]*Value  // the arguments that a node reads without passing through a managed resource
}

// addFeed notes that an argument reads instances of its own call, and reports whether n is such an
// argument.
func (b *build) addFeed(n *Node, call *Module) bool {
	v, ok := n.Object.(*Value)
	if !ok || v.Kind != Variable || v.Module != call {
		return false
	}
	found := false
	for _, read := range v.CallReads {
		if read.Call != call {
			continue
		}
		found = true
		same := func(f feed) bool { return f.to == v && f.read.Output == read.Output }
		if !slices.ContainsFunc(b.feeds[call], same) {
			b.feeds[call] = append(b.feeds[call], feed{v, read})
		}
	}
	return found
}

// splitCall adds the Parts of a call that reads its own instances.
func (b *build) splitCall(m *Module) {
	nodes := b.betweenFeeds(m)
	if len(nodes) == 0 { // the outputs don't depend on the arguments
		for _, f := range b.feeds[m] {
			for _, output := range f.read.outputs() {
				b.after(f.to.Node, output.Node)
			}
		}
		return
	}
	if _, known := b.instances.earlyKeys().ModuleInstances(m); !known && !b.readsResources(m.expand) {
		return // the call itself has an error
	}
	r, err := b.instancesOf(m)
	if err == nil {
		err = b.unsplittable(m, nodes)
	}
	if err != nil {
		m.expand.Problems = m.expand.Problems.AppendError(err)
		return
	}
	for _, n := range nodes {
		r.parts[n] = make([]*Node, len(r.list))
		b.g.regions[n], n.Split = r, true
		for i, in := range r.list {
			part := b.node(KindPart, n.Module, partName(n, m, in), n.Range)
			part.Resource, part.Object, part.In, part.Problems = n.Resource, n, in, n.Problems
			r.parts[n][i] = part
		}
	}
	for _, n := range nodes {
		b.connectParts(r, n)
	}
	for i := range r.list {
		for _, s := range r.sources[i] {
			for _, output := range s.outputs {
				b.after(r.parts[s.to.Node][i], b.g.Part(output.Node, r.list[s.from]))
			}
		}
	}
}

// betweenFeeds returns the nodes on the ways from the outputs of m that are read to the arguments
// that read them.
func (b *build) betweenFeeds(m *Module) []*Node {
	var outputs, arguments []dag.ID
	for _, f := range b.feeds[m] {
		arguments = append(arguments, f.to.Node.ID)
		for _, v := range f.read.outputs() {
			outputs = append(outputs, v.Node.ID)
		}
	}
	needed, needing := b.g.Edges.Reach(outputs...), dag.ReachIn(b.g.Edges.Dependents(), arguments...)
	var out []*Node
	for id := range needed {
		if needed[id] && needing[id] {
			out = append(out, b.g.Nodes[id])
		}
	}
	return out
}

// readsResources reports whether a node depends on a resource.
func (b *build) readsResources(n *Node) bool {
	for id, reached := range b.g.Edges.Reach(n.ID) {
		if reached && b.g.Nodes[id].Kind.IsResource() {
			return true
		}
	}
	return false
}

// unsplittable returns an error if one of the nodes can't have Parts.
func (b *build) unsplittable(m *Module, nodes []*Node) error {
	for _, n := range nodes {
		switch {
		case n.Kind == KindProvider:
			return tfdiags.Errorf("Cycle: "+m.expand.Name, "An argument of %s refers to other instances of this call, "+
				"and %s depends on it. A provider is configured once for all instances, so it can't depend on an "+
				"argument that comes from one of them.", m.Path, n.Name).At(m.Call.Range)
		case b.g.regions[n] != nil:
			return tfdiags.Errorf("Cycle: "+m.expand.Name, "%s refers to its own instances and is part of %s, which does so "+
				"too. Only one of two nested module calls can refer to its own instances.", m.Path,
				b.g.regions[n].Call.Path).At(m.Call.Range)
		}
	}
	return nil
}

func partName(n *Node, m *Module, in addrs.ModuleInstance) string {
	return in.String() + strings.TrimPrefix(n.Name, m.Path.String())
}

// connectParts makes the Parts of a node wait for those of the nodes that it needs in the same
// module instance, and for everything else that it needs.
func (b *build) connectParts(r *Region, n *Node) {
	var others *Node
	needs := b.needs(n)
	for _, edge := range b.later[n] {
		needs = append(needs, edge.to)
	}
	for _, need := range needs {
		switch {
		case r.parts[need] != nil:
			for i, part := range r.parts[n] {
				b.after(part, r.parts[need][i])
			}
			continue
		case need.Kind == KindStep: // connectSteps and Steps
			continue
		case others == nil:
			others = b.node(KindBarrier, nil, n.Name+" (needs)", nil)
			others.Resource = n.Resource
		}
		b.after(others, need)
	}
	for _, part := range r.parts[n] {
		b.after(part, others)
		b.after(n, part)
	}
	if one, ok := n.Object.(*InstanceBarrier); ok {
		for in, s := range one.Steps {
			b.after(b.g.Part(n, in), s.node)
		}
	}
}

// Part returns the Part of a node in a module instance, or the node itself if it has none there.
func (g *Graph) Part(n *Node, in addrs.ModuleInstance) *Node {
	if !n.Split {
		return n
	}
	r := g.regions[n]
	if i, ok := r.at[outermost(in, r.depth)]; ok {
		return r.parts[n][i]
	}
	return n
}

// partsOf returns the Parts of a node.
func (g *Graph) partsOf(n *Node) []*Node { return g.regions[n].parts[n] }

// source is an instance of a call that an argument of another instance reads.
type source struct {
	to      *Value
	from    int // position of the instance
	outputs []*Value
	at      hcl.Range
}

// instancesOf returns the instances of a call that reads its own instances, and by instance, what
// its arguments read. It returns an error if these are not known or refer to each other in a circle.
func (b *build) instancesOf(m *Module) (*Region, error) {
	r := &Region{Call: m, at: map[addrs.ModuleInstance]int{}, parts: map[*Node][]*Node{},
		depth: len(m.Path.UnkeyedInstance().Steps())}
	early := b.instances.earlyKeys()
	list, known := early.ModuleInstances(m)
	if !known {
		return nil, tfdiags.Errorf("Unknown instances of a module call", "An argument of %s refers to other "+
			"instances of this call. Its instances must be known before anything is planned then, so its count or "+
			"for_each can't depend on resources or data sources.", m.Path).At(m.Call.Range)
	}
	r.list = list
	for i, in := range list {
		r.at[in] = i
	}
	sources := make([][]source, len(list))
	order := &dag.Graph{}
	for range list {
		order.Add()
	}
	for i, in := range list {
		for _, f := range b.feeds[m] {
			keys, known := early.ReadValue(f.to, in, f.read.keyed())
			if !known {
				return nil, unknownFeed(f, in)
			}
			parent, _ := in.Parent()
			for _, k := range keys {
				from, exists := r.at[parent.Child(m.Call.Name, k.Key)]
				if !exists {
					continue // the evaluation of the argument reports it
				}
				sources[i] = append(sources[i], source{f.to, from, f.read.outputs(), k.At})
				order.Connect(dag.ID(i), dag.ID(from))
			}
		}
	}
	r.sources = sources
	return r, r.cycles(order)
}

func unknownFeed(f feed, in addrs.ModuleInstance) error {
	at := f.to.Expr.Range()
	if i := slices.IndexFunc(f.read.Refs, func(ref lang.InstanceRef) bool { return ref.Index != nil }); i >= 0 {
		at = f.read.Refs[i].Range
	}
	return tfdiags.Errorf("Unusable instance key", "The argument %q of %s refers to another instance of the same call by "+
		"a key that is not known before anything is planned, or not valid. The keys of such references decide the "+
		"order of the instances, so they can't depend on resources, data sources or sensitive values.", f.to.Name, in).At(at)
}

// cycles returns an error for instances of the call that refer to each other in a circle.
func (r *Region) cycles(order *dag.Graph) error {
	sources := r.sources
	var errs tfdiags.Diagnostics
	for i, list := range sources {
		for _, s := range list {
			if s.from == i {
				errs = errs.Append(tfdiags.Errorf("Self-referential module call", "The argument %q of %s refers to the same "+
					"instance of the call. It can refer to other instances only.", s.to.Name, r.list[i]).At(s.at))
			}
		}
	}
	if _, ok := order.Order(); ok || len(errs) > 0 {
		return errs.Err()
	}
	for _, cycle := range order.Cycles() {
		var names []string
		var text strings.Builder
		var first hcl.Range
		for n, id := range cycle {
			next := int(cycle[(n+1)%len(cycle)])
			at := sources[id][slices.IndexFunc(sources[id], func(s source) bool { return s.from == next })].at
			if n == 0 {
				first = at
			}
			names = append(names, r.list[id].String())
			fmt.Fprintf(&text, "\n  - %s refers to %s at %s", r.list[id], r.list[next], tfdiags.Place(at))
		}
		errs = errs.Append(tfdiags.Errorf("Cycle: "+strings.Join(names, ", "),
			"These module instances refer to each other, so none of them can come first:%s", text.String()).At(first))
	}
	return errs.Err()
}
