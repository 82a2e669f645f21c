package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

// LeftOut is a resource or an instance that takes no part in a run because of targets or
// exclusions, although it refers to something that takes part or to something excluded. In a
// destruction, it is something that an excluded object depends on.
type LeftOut struct {
	What string // its address
	Why  string // "refers to ADDRESS at FILE:LINE" or "is needed by ADDRESS"
}

func refersTo(of fmt.Stringer, at hcl.Range) string {
	return fmt.Sprintf("refers to %s at %s", of, tfdiags.Place(at))
}

// leftOutBy returns what is left out because it refers to something excluded. lost holds, by node,
// the places that the search along edges has reached.
func (t *targeting) leftOutBy(lost []places) []LeftOut {
	var out []LeftOut
	for _, r := range t.g.Resources {
		if r.Config == nil || t.matches[r] != nil && t.whole(r) {
			continue
		}
		why := ""
		if by := t.neededBy[r]; by != nil {
			why = refersTo(by.Addr, r.refersAt(by))
		}
		at := lost[r.Node.ID]
		if at[everywhere] {
			out = append(out, LeftOut{r.Addr.String(), why})
			continue
		}
		excluded := SelectOthers(t.matches[r])
		var some []LeftOut
		for m := range at {
			name := m.String()
			if m.Module() == r.Addr.Module {
				name = r.Addr.Resource.InInstance(m).String()
			}
			some = append(some, LeftOut{name, why})
		}
		for addr, reason := range t.reasons[r] {
			if excluded.Has(addr) && !at[addr.Module] {
				some = append(some, LeftOut{addr.String(), reason})
			}
		}
		slices.SortFunc(some, func(a, b LeftOut) int { return strings.Compare(a.What, b.What) })
		out = append(out, some...)
	}
	return out
}

// readersLeftOut returns the blocks and instances that take no part, but refer directly or through
// values to something that takes part.
func (t *targeting) readersLeftOut() []LeftOut {
	var out []LeftOut
	seen := map[addrs.AbsInstance]bool{}
	byInstance := map[*Resource]map[*Resource]bool{} // by resource: blocks that refer to it only by known keys
	for _, r := range t.g.Resources {
		for _, x := range t.selectedInstances(r) {
			found, known := t.readersOf(x)
			if byInstance[r] == nil {
				byInstance[r] = known.skip
			} else {
				keepBoth(byInstance[r], known.skip)
			}
			for _, y := range found {
				if addr := y.addr(); !y.r.Selected.Has(addr) && !seen[addr] {
					seen[addr] = true
					out = append(out, LeftOut{addr.String(), y.reason})
				}
			}
		}
	}
	for q, by := range t.blocksReading(byInstance) {
		out = append(out, LeftOut{q.Addr.String(), refersTo(by.Addr, q.refersAt(by))})
	}
	slices.SortFunc(out, func(a, b LeftOut) int { return strings.Compare(a.What, b.What) })
	return out
}

// blocksReading returns the blocks that take no part and refer to a resource that does, each with
// that resource. known holds, by resource, the blocks that refer to it only by known keys.
func (t *targeting) blocksReading(known map[*Resource]map[*Resource]bool) map[*Resource]*Resource {
	out := map[*Resource]*Resource{}
	users, outputs := t.g.Edges.Dependents(), t.outputReaders()
	by := make([]*Resource, len(t.g.Nodes)) // by node: the resource from which it was reached
	var todo []dag.ID
	for _, r := range t.g.Resources {
		if r.takesPart() {
			by[r.Node.ID] = r
			todo = append(todo, r.Node.ID)
		}
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		r, from := by[id], t.g.Nodes[id]
		for _, user := range slices.Concat(users[id], outputs[id]) {
			n := t.g.Nodes[user]
			if from.closesModule() && n.readsOutputsOf(from.Module) {
				continue // it is among the readers of the outputs
			}
			switch q := n.Resource; {
			case q == nil && by[user] == nil:
				by[user] = r
				todo = append(todo, user)
			case q == nil, q == r, q.Config == nil, q.takesPart(), out[q] != nil, id == r.Node.ID && known[r][q]:
			default:
				out[q] = r
			}
		}
	}
	return out
}

// outputReaders returns, by the node of an output, the nodes of the blocks and values that read it
// from single instances of its module. Their edges lead to the end of the module.
func (t *targeting) outputReaders() map[dag.ID][]dag.ID {
	out := map[dag.ID][]dag.ID{}
	for _, n := range t.g.Nodes {
		for _, read := range n.callReads() {
			for _, v := range read.Outputs() {
				out[v.Node.ID] = append(out[v.Node.ID], n.ID)
			}
		}
	}
	return out
}

// callReads returns the outputs that the block or value of a node reads only by instance.
func (n *Node) callReads() []CallRead {
	if n.Resource != nil && n == n.Resource.Node {
		return n.Resource.CallReads
	}
	if v, ok := n.Object.(*Value); ok && n == v.Node {
		return v.CallReads
	}
	return nil
}

// readsOutputsOf reports whether the block or value of a node reads a module call only by instance.
func (n *Node) readsOutputsOf(call *Module) bool {
	return slices.ContainsFunc(n.callReads(), func(read CallRead) bool { return read.Call == call })
}

// takesPart reports whether some instance of r may take part.
func (r *Resource) takesPart() bool {
	s := r.Selected
	return s == nil || s.only == nil || len(s.only)+len(s.named)+len(s.resources)+len(s.modules) > 0
}

// selectedInstances returns the instances of r that take part because they are named one by one.
func (t *targeting) selectedInstances(r *Resource) []instanceAt {
	if t.early == nil || r.Selected == nil {
		return nil
	}
	var out []instanceAt
	for addr := range r.Selected.named {
		out = append(out, instanceAt{r, addr.Module, addr.Key})
	}
	slices.SortFunc(out, func(a, b instanceAt) int { return a.addr().Compare(b.addr()) })
	return out
}

// refersAt returns the place of a reference from the block to another resource, or to the module
// call that contains that resource. If the block refers to the resource only through other values,
// it returns the place of the block.
func (r *Resource) refersAt(other *Resource) hcl.Range {
	if r.Exprs == nil {
		return r.Config.Range
	}
	within := other.Module
	for within != nil && within.Parent != r.Module {
		within = within.Parent
	}
	for refs := range r.Exprs.References() {
		for _, ref := range refs.Objects {
			call, _, isCall := lang.ModuleSubject(ref.Subject)
			if r.Module.ResourceOf(ref.Subject) == other ||
				isCall && within != nil && r.Module.Calls[call.Name] == within {
				return ref.Range
			}
		}
	}
	return r.Config.Range
}
