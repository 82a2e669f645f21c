package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

// How the instances of a module call read each other
//
// An argument of a module call may read outputs of sibling instances, which are the other instances
// of the same call: input = module.step[each.value.after].out. Between the blocks, this is a cycle:
// the argument needs the output, which needs the argument. Between the instances, it may not be a
// cycle. For example, if step["b"] reads step["a"], they wait for each other in the direction of the
// arrows:
//
//	step["b"]: out -> resource -> input
//	                                |
//	step["a"]:                      +----> out -> resource -> input
//
// So no edge leads from the argument's node to the output's node, and code that follows the edges
// between nodes, such as the search for the dependencies in the state, doesn't see these reads. The
// order between the instances is that of their places: planOrder splits the blocks on the way from an
// output to an argument, and in an apply, Steps wait for places anyway. All other walks evaluate what
// is read first.
//
// The keys of the siblings are evaluated before the walk (KnownKeys), so they can't depend on
// resources.

var siblingsTransformer = &Transformer{
	Name:  "Siblings",
	Doc:   "checks the references between instances of a module call",
	After: []*Transformer{referenceTransformer, moduleTransformer},
	Run: func(_ context.Context, b *build) error {
		by := map[*reads.Node]*reads.Module{} // by node between instances that read each other: their call
		for _, path := range sortedModules(b.g.Modules) {
			m := b.g.Modules[path]
			if len(b.g.Siblings[m]) == 0 {
				continue
			}
			siblings := siblingCheck{b}
			nodes := siblings.betweenSiblingReads(m)
			check := siblings.orderSiblings
			if b.op.Phase.InputsUnknown() {
				check = siblings.validateSiblings
			}
			err := unsplittable(m, nodes, by)
			if err == nil {
				err = check(m, nodes)
			}
			m.Expand.Problems = m.Expand.Problems.AppendError(err)
			for _, n := range nodes {
				by[n] = m
			}
		}
		return nil
	},
}

// siblingCheck checks the reads between instances of module calls.
type siblingCheck struct{ b *build }

// validateSiblings checks arguments of a module call that refer to instances of their own call. It finds
// only errors that don't depend on variables or resources: arguments that refer to their own instance,
// such as module.step[each.key].out, and cycles of keys.
func (s siblingCheck) validateSiblings(m *reads.Module, nodes []*reads.Node) error {
	if s.checkSameInstance(m) || len(nodes) == 0 || s.b.op.Early == nil {
		return nil
	}
	return s.orderInstances(m)
}

// checkSameInstance records an error for each argument of a module call that refers to its own
// instance by count.index or each.key. It reports whether there are any.
func (s siblingCheck) checkSameInstance(m *reads.Module) (found bool) {
	for _, f := range s.b.g.Siblings[m] {
		for _, ref := range f.Read.Refs {
			if reads.SelectsItself(ref) {
				f.To.Node.Problems = f.To.Node.Problems.Append(sameInstance(f.To.Name, m.Path).At(ref.Range))
				found = true
			}
		}
	}
	return found
}

// sameInstance returns the error for an argument that refers to its own instance of the call.
func sameInstance(argument string, of fmt.Stringer) tfdiags.Diagnostic {
	return tfdiags.Errorf("Self-referential module call",
		"The argument %q of %s refers to the same instance of the call. It can refer to other instances only.",
		argument, of)
}

// addSiblingRead records the outputs of sibling instances that n reads. It reports whether n is an
// argument of the call that reads any.
func (b *build) addSiblingRead(n *reads.Node, call *reads.Module) bool {
	v := n.Value()
	if v == nil || v.Kind != reads.Variable || v.Module != call {
		return false
	}
	found := false
	for _, read := range v.CallReads {
		if read.Call != call {
			continue
		}
		found = true
		same := func(f reads.SiblingRead) bool { return f.To == v && f.Read.Output == read.Output }
		if !slices.ContainsFunc(b.g.Siblings[call], same) {
			b.g.Siblings[call] = append(b.g.Siblings[call], reads.SiblingRead{To: v, Read: read})
			call.Mutual = true
		}
	}
	return found
}

// orderSiblings checks that the instances of a call can be ordered by their reads of each other. In a
// plan, it records the nodes between them; see planOrder.
func (s siblingCheck) orderSiblings(m *reads.Module, nodes []*reads.Node) error {
	if len(nodes) == 0 { // the outputs don't depend on the arguments, so there is no cycle
		for _, f := range s.b.g.Siblings[m] {
			for _, output := range f.Read.Outputs() {
				s.b.after(f.To.Node, output.Node)
			}
		}
		return nil
	}
	if s.b.op.Phase.Applies() {
		return nil // the plan has checked it
	}
	if _, known := s.b.earlyKeys().ModuleInstances(m); !known && !s.readsResources(m.Expand) {
		return nil // the call itself has an error
	}
	err := s.orderInstances(m)
	if err == nil && s.b.op.Phase == phase.Plan {
		s.b.between[m] = nodes
	}
	return err
}

// betweenSiblingReads returns the nodes on all paths from an output of m that a sibling reads to an
// argument that reads it.
func (s siblingCheck) betweenSiblingReads(m *reads.Module) []*reads.Node {
	var outputs, arguments []dag.ID
	for _, f := range s.b.g.Siblings[m] {
		arguments = append(arguments, f.To.Node.ID)
		for _, v := range f.Read.Outputs() {
			outputs = append(outputs, v.Node.ID)
		}
	}
	needed, needing := s.b.g.Edges.Reach(outputs...), dag.ReachIn(s.b.g.Edges.Dependents(), arguments...)
	var out []*reads.Node
	for id := range needed {
		if needed[id] && needing[id] {
			out = append(out, s.b.g.Nodes[id])
		}
	}
	return out
}

// readsResources reports whether a node depends on a resource.
func (s siblingCheck) readsResources(n *reads.Node) bool {
	for id, reached := range s.b.g.Edges.Reach(n.ID) {
		if reached && s.b.g.Nodes[id].Kind.IsResource() {
			return true
		}
	}
	return false
}

// unsplittable returns an error if one of the nodes between instances that read each other can't be
// split. by holds the calls by which other nodes are split.
func unsplittable(m *reads.Module, nodes []*reads.Node, by map[*reads.Node]*reads.Module) error {
	for _, n := range nodes {
		switch other := by[n]; {
		case n.Kind == reads.KindProvider:
			return tfdiags.Errorf("Cycle: "+m.Expand.Name, "An argument of %s refers to other instances of this call, "+
				"and %s depends on it. A provider is configured once for all instances, so it can't depend on an "+
				"argument that comes from one of them.", m.Path, n.Name).At(m.Call.Range)
		case other != nil:
			return tfdiags.Errorf("Cycle: "+m.Expand.Name, "%s refers to its own instances and is part of %s, which "+
				"does so too. Only one of two nested module calls can refer to its own instances.", m.Path,
				other.Path).At(m.Call.Range)
		}
	}
	return nil
}

// source is an instance of a call that an argument of a sibling reads.
type source struct {
	to   *reads.Value // the argument
	from int          // position of the instance that it reads
	at   hcl.Range
}

// orderInstances returns an error if the reads between the instances of a call form a cycle, or if some of
// the instances or of the keys with which they read each other are not known. While variables are unknown, it
// ignores instances that are not known, and references with a key or a condition that is not known.
func (s siblingCheck) orderInstances(m *reads.Module) error {
	early, lenient := s.b.earlyKeys(), s.b.op.Phase.InputsUnknown()
	list, known := early.ModuleInstances(m)
	switch {
	case !known && lenient:
		return nil
	case !known:
		return tfdiags.Errorf("Unknown instances of a module call", "An argument of %s refers to other "+
			"instances of this call, so all of them must be known before anything is planned. The call's count or "+
			"for_each can't depend on resources or data sources.", m.Path).At(m.Call.Range)
	}
	order, at := &dag.Graph{}, make(map[addrs.ModuleInstance]int, len(list))
	for i, in := range list {
		order.Add()
		at[in] = i
	}
	sources := make([][]source, len(list))
	for i, in := range list {
		parent, _ := in.Parent()
		for _, f := range s.b.g.Siblings[m] {
			keys, known := early.ReadValue(f.To, in, f.Read)
			switch {
			case !known && lenient:
				keys = knownKeys(early, f, in)
			case !known:
				return unknownSibling(f, in)
			}
			for _, k := range keys {
				from, exists := at[parent.Child(m.Call.Name, k.Key)]
				if !exists {
					continue // evaluating the argument reports that there is no such instance
				}
				sources[i] = append(sources[i], source{f.To, from, k.At})
				order.Connect(dag.ID(i), dag.ID(from))
			}
		}
	}
	return cycles(list, sources, order)
}

// knownKeys returns the keys of those references of an argument whose keys and conditions are known.
func knownKeys(early reads.KnownKeys, f reads.SiblingRead, in addrs.ModuleInstance) []reads.KeyRead {
	var out []reads.KeyRead
	for _, ref := range f.Read.Refs {
		if keys, known := early.ReadValue(f.To, in, reads.KeyedRead{Call: f.Read.Call, Refs: lang.Instances{ref}}); known {
			out = append(out, keys...)
		}
	}
	return out
}

func unknownSibling(f reads.SiblingRead, in addrs.ModuleInstance) error {
	at := f.To.Expr.Range()
	keyed := slices.IndexFunc(f.Read.Refs, func(ref lang.InstanceRef) bool { return ref.Index != nil })
	if keyed >= 0 {
		at = f.Read.Refs[keyed].Range
	}
	return tfdiags.Errorf("Unusable instance key",
		"The argument %q of %s refers to another instance of the same call by a key that is not known before "+
			"anything is planned, or not valid. The keys of such references decide the order of the instances, so "+
			"they can't depend on resources, data sources or sensitive values.", f.To.Name, in).At(at)
}

// cycles returns an error if the reads between the instances in list form a cycle. sources has the reads of
// each, and order an edge for each read.
func cycles(list []addrs.ModuleInstance, sources [][]source, order *dag.Graph) error {
	var errs tfdiags.Diagnostics
	for i, of := range sources {
		for _, s := range of {
			if s.from == i {
				errs = errs.Append(sameInstance(s.to.Name, list[i]).At(s.at))
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
			names = append(names, list[id].String())
			fmt.Fprintf(&text, "\n  - %s refers to %s at %s", list[id], list[next], tfdiags.Place(at))
		}
		errs = errs.Append(tfdiags.Errorf("Cycle: "+strings.Join(names, ", "),
			"These module instances refer to each other, so none of them can come first:%s", text.String()).At(first))
	}
	return errs.Err()
}
