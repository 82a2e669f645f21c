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

// How the instances of a module call read each other
//
// An argument of a module call may read outputs of sibling instances, which are the other instances
// of the same call: input = module.step[each.value.after].out. Between the blocks, this is a cycle:
// the argument needs the output, which needs the argument. Between the instances, it may not be a
// cycle. So each node on a path from such an output to the argument is split into Parts, one for
// each instance of the call. Each Part does the work of the node in that module instance. For
// example, if step["b"] reads step["a"], the Parts wait for each other in the direction of the
// arrows:
//
//	step["b"]: out -> resource -> input
//	                                |
//	step["a"]:                      +----> out -> resource -> input
//
// Within an instance, the Parts wait for each other in the same way as the nodes would if the call
// did not read itself. The node itself waits for all of its Parts and does the rest of its work,
// such as planning to delete instances that are no longer declared.
//
// The keys of the siblings are evaluated before the walk (EarlyKeys), so they can't depend on
// resources. No edge leads from the argument's node to the output's node. So code that follows the
// edges between nodes, such as the search for the dependencies in the state, doesn't see these
// reads.

var siblingsTransformer = &Transformer{
	Name:  "Siblings",
	Doc:   "splits the nodes between module instances that read each other into Parts, one for each instance",
	After: []*Transformer{referenceTransformer, moduleTransformer},
	Run: func(_ context.Context, b *build) error {
		if b.op.Phase == PhaseValidate {
			b.checkSiblings()
			return nil
		}
		for _, path := range sortedModules(b.g.Modules) {
			if m := b.g.Modules[path]; len(b.siblingReads[m]) > 0 {
				b.split(m)
			}
		}
		return nil
	},
}

// siblingRead is an argument of a module call that reads outputs of sibling instances.
type siblingRead struct {
	to   *Value
	read CallRead
}

// checkSiblings records errors for arguments of module calls that refer to instances of their own
// call. It finds only errors that don't depend on variables or resources: nested calls whose
// instances read each other, arguments that refer to their own instance, such as
// module.step[each.key].out, and cycles of keys.
func (b *build) checkSiblings() {
	by := map[*Node]*Module{}
	for _, path := range sortedModules(b.g.Modules) {
		m := b.g.Modules[path]
		if len(b.siblingReads[m]) == 0 {
			continue
		}
		nodes := b.betweenSiblingReads(m)
		err := unsplittable(m, nodes, func(n *Node) *Module { return by[n] })
		if err == nil && !b.checkSameInstance(m) && len(nodes) > 0 && b.op.Early != nil {
			err = b.checkSiblingKeys(m)
		}
		m.expand.Problems = m.expand.Problems.AppendError(err)
		for _, n := range nodes {
			by[n] = m
		}
	}
}

// checkSameInstance records an error for each argument of a module call that refers to its own
// instance by count.index or each.key. It reports whether there are any.
func (b *build) checkSameInstance(m *Module) (found bool) {
	for _, f := range b.siblingReads[m] {
		for _, ref := range f.read.Refs {
			if ref.Index != nil && ref.Certain() && isOwnKey(ref.Index) {
				f.to.Node.Problems = f.to.Node.Problems.Append(sameInstance(f.to.Name, m.Path).At(ref.Range))
				found = true
			}
		}
	}
	return found
}

// checkSiblingKeys returns an error if the keys with which instances of a call refer to each other
// form a cycle. It ignores references with a key or a condition that is not known.
func (b *build) checkSiblingKeys(m *Module) error {
	early := b.earlyKeys()
	list, known := early.ModuleInstances(m)
	if !known {
		return nil
	}
	r := newSplitCall(m, list)
	return r.order(b.siblingReads[m], func(f siblingRead, in addrs.ModuleInstance) ([]KeyRead, error) {
		var out []KeyRead
		for _, ref := range f.read.Refs {
			if keys, known := early.ReadValue(f.to, in, Keyed{lang.Instances{ref}, m.CallKeys()}); known {
				out = append(out, keys...)
			}
		}
		return out, nil
	})
}

// sameInstance returns the error for an argument that refers to its own instance of the call.
func sameInstance(argument string, of fmt.Stringer) tfdiags.Diagnostic {
	return tfdiags.Errorf("Self-referential module call",
		"The argument %q of %s refers to the same instance of the call. It can refer to other instances only.",
		argument, of)
}

// splitCall is a module call whose instances read each other, with the nodes that are split into
// Parts. Positions are indexes into list.
type splitCall struct {
	Call  *Module
	list  []addrs.ModuleInstance       // the instances of the call
	at    map[addrs.ModuleInstance]int // positions of the instances
	depth int                          // number of steps in the addresses of the instances
	parts map[*Node][]*Node            // by node, its Parts by position

	sources [][]source // by position, the sibling outputs that the arguments of the instance read
}

// addSiblingRead records the outputs of sibling instances that n reads. It reports whether n is an
// argument of the call that reads any.
func (b *build) addSiblingRead(n *Node, call *Module) bool {
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
		same := func(f siblingRead) bool { return f.to == v && f.read.Output == read.Output }
		if !slices.ContainsFunc(b.siblingReads[call], same) {
			b.siblingReads[call] = append(b.siblingReads[call], siblingRead{v, read})
			call.readsSiblings = true
		}
	}
	return found
}

// split splits the nodes of a call whose instances read each other into Parts.
func (b *build) split(m *Module) {
	nodes := b.betweenSiblingReads(m)
	if len(nodes) == 0 { // the outputs don't depend on the arguments, so there is no cycle
		for _, f := range b.siblingReads[m] {
			for _, output := range f.read.Outputs() {
				b.after(f.to.Node, output.Node)
			}
		}
		return
	}
	if b.op.Phase != PhasePlan && !(b.op.Phase.Applies() && b.draws) {
		return // Steps wait for the instances that they read; other walks evaluate what is read first
	}
	if _, known := b.earlyKeys().ModuleInstances(m); !known && !b.readsResources(m.expand) {
		return // the call itself has an error
	}
	r, err := b.instancesOf(m)
	if err == nil {
		err = unsplittable(m, nodes, func(n *Node) *Module {
			if of := b.g.splitCalls[n]; of != nil {
				return of.Call
			}
			return nil
		})
	}
	if err != nil {
		m.expand.Problems = m.expand.Problems.AppendError(err)
		return
	}
	for _, n := range nodes {
		b.addParts(r, n)
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

// newSplitCall returns a call with its instances.
func newSplitCall(m *Module, list []addrs.ModuleInstance) *splitCall {
	r := &splitCall{Call: m, list: list, at: make(map[addrs.ModuleInstance]int, len(list)), parts: map[*Node][]*Node{},
		depth: len(m.Path.UnkeyedInstance().Steps())}
	for i, in := range list {
		r.at[in] = i
	}
	return r
}

// addParts splits a node into Parts.
func (b *build) addParts(r *splitCall, n *Node) {
	r.parts[n] = make([]*Node, len(r.list))
	b.g.splitCalls[n], n.Split = r, true
	for i, in := range r.list {
		part := b.node(KindPart, n.Module, partName(n, r.Call, in), n.Range)
		part.Resource, part.Object, part.In, part.Problems = n.Resource, n, in, n.Problems
		r.parts[n][i] = part
	}
}

// betweenSiblingReads returns the nodes on all paths from an output of m that a sibling reads to an
// argument that reads it.
func (b *build) betweenSiblingReads(m *Module) []*Node {
	var outputs, arguments []dag.ID
	for _, f := range b.siblingReads[m] {
		arguments = append(arguments, f.to.Node.ID)
		for _, v := range f.read.Outputs() {
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

// unsplittable returns an error if one of the nodes can't have Parts. splitBy returns the other
// call by whose instances a node is split, or nil.
func unsplittable(m *Module, nodes []*Node, splitBy func(*Node) *Module) error {
	for _, n := range nodes {
		other := splitBy(n)
		switch {
		case n.Kind == KindProvider:
			return tfdiags.Errorf("Cycle: "+m.expand.Name, "An argument of %s refers to other instances of this call, "+
				"and %s depends on it. A provider is configured once for all instances, so it can't depend on an "+
				"argument that comes from one of them.", m.Path, n.Name).At(m.Call.Range)
		case other != nil:
			return tfdiags.Errorf("Cycle: "+m.expand.Name, "%s refers to its own instances and is part of %s, which "+
				"does so too. Only one of two nested module calls can refer to its own instances.", m.Path,
				other.Path).At(m.Call.Range)
		}
	}
	return nil
}

func partName(n *Node, m *Module, in addrs.ModuleInstance) string {
	return in.String() + strings.TrimPrefix(n.Name, m.Path.String())
}

// connectParts makes the Parts of a node wait for the nodes that the node needs. If a needed node
// is split too, by the same call or one around it, each Part waits for the Part of that node in the
// same module instance. For all other needs, the Parts share a Barrier. The Parts of a value don't:
// each has its own edges, because it may read single instances.
func (b *build) connectParts(r *splitCall, n *Node) {
	var others *Node
	for _, need := range b.needs(n) {
		switch of := b.g.splitCalls[need]; {
		case n.Kind == KindValue, of != nil && of.Call.Path.Contains(r.Call.Path):
			for i, part := range r.parts[n] {
				b.after(part, b.g.Part(need, r.list[i]))
			}
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
}

// knowsPlace reports whether each Part of a value evaluates it in exactly one module instance.
func (r *splitCall) knowsPlace(v *Value) bool { return v.Module.repeated() == r.Call }

// place returns the instance of the value's module that belongs to the instance of the call at a
// position. The calls in between have a single instance each.
func (r *splitCall) place(v *Value, i int) addrs.ModuleInstance {
	return v.Module.in(r.list[i], r.Call)
}

// Part returns the Part of a node in a module instance, or the node itself if it has none there.
func (g *Graph) Part(n *Node, in addrs.ModuleInstance) *Node {
	if !n.Split {
		return n
	}
	r := g.splitCalls[n]
	if i, ok := r.at[outermost(in, r.depth)]; ok {
		return r.parts[n][i]
	}
	return n
}

// partsOf returns the Parts of a node.
func (g *Graph) partsOf(n *Node) []*Node { return g.splitCalls[n].parts[n] }

// source is an instance of a call that an argument of a sibling reads.
type source struct {
	to      *Value   // the argument
	from    int      // position of the instance that it reads
	outputs []*Value // outputs that the argument reads
	at      hcl.Range
}

// instancesOf returns a call with its instances and, for each instance, the outputs of siblings
// that its arguments read. It returns an error if some of the instances or keys are not known, or
// if the reads form a cycle.
func (b *build) instancesOf(m *Module) (*splitCall, error) {
	early := b.earlyKeys()
	list, known := early.ModuleInstances(m)
	if !known {
		return nil, tfdiags.Errorf("Unknown instances of a module call", "An argument of %s refers to other "+
			"instances of this call, so all of them must be known before anything is planned. The call's count or "+
			"for_each can't depend on resources or data sources.", m.Path).At(m.Call.Range)
	}
	r := newSplitCall(m, list)
	return r, r.order(b.siblingReads[m], func(f siblingRead, in addrs.ModuleInstance) ([]KeyRead, error) {
		keys, known := early.ReadValue(f.to, in, f.read.keyed())
		if !known {
			return nil, unknownSibling(f, in)
		}
		return keys, nil
	})
}

// order finds out which instances of the call read each other. keysOf returns the keys with which an
// argument of one instance reads others. It returns an error if the reads form a cycle.
func (r *splitCall) order(
	reads []siblingRead, keysOf func(siblingRead, addrs.ModuleInstance) ([]KeyRead, error),
) error {
	r.sources = make([][]source, len(r.list))
	order := &dag.Graph{}
	for range r.list {
		order.Add()
	}
	for i, in := range r.list {
		for _, f := range reads {
			keys, err := keysOf(f, in)
			if err != nil {
				return err
			}
			parent, _ := in.Parent()
			for _, k := range keys {
				from, exists := r.at[parent.Child(r.Call.Call.Name, k.Key)]
				if !exists {
					continue // evaluating the argument reports that there is no such instance
				}
				r.sources[i] = append(r.sources[i], source{f.to, from, f.read.Outputs(), k.At})
				order.Connect(dag.ID(i), dag.ID(from))
			}
		}
	}
	return r.cycles(order)
}

func unknownSibling(f siblingRead, in addrs.ModuleInstance) error {
	at := f.to.Expr.Range()
	keyed := slices.IndexFunc(f.read.Refs, func(ref lang.InstanceRef) bool { return ref.Index != nil })
	if keyed >= 0 {
		at = f.read.Refs[keyed].Range
	}
	return tfdiags.Errorf("Unusable instance key",
		"The argument %q of %s refers to another instance of the same call by a key that is not known before "+
			"anything is planned, or not valid. The keys of such references decide the order of the instances, so "+
			"they can't depend on resources, data sources or sensitive values.", f.to.Name, in).At(at)
}

// cycles returns an error if the reads between instances form a cycle. order has an edge for each
// read.
func (r *splitCall) cycles(order *dag.Graph) error {
	sources := r.sources
	var errs tfdiags.Diagnostics
	for i, list := range sources {
		for _, s := range list {
			if s.from == i {
				errs = errs.Append(sameInstance(s.to.Name, r.list[i]).At(s.at))
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
