package graph

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// setCallNeeds sets the resources that a block depends on only by reading single instances of
// module calls. set holds all resources that the block depends on.
func (f *nearest) setCallNeeds(r *Resource, set *resourceSet) {
	if len(r.CallReads) == 0 || set == nil {
		return
	}
	through := map[dag.ID]bool{}
	calls := map[*Module]bool{}
	for _, read := range r.CallReads {
		calls[read.Call] = true
		through[read.Call.end.ID] = true
		for _, v := range read.Outputs() {
			through[v.Node.ID] = true
		}
	}
	var rest []*resourceSet
	for _, to := range f.edges.Needs(r.Inputs.ID) {
		if f.reached[to] != nil && !through[to] && f.b.g.Nodes[to].Kind != KindPart {
			rest = append(rest, f.reached[to])
		}
	}
	others := union(rest)
	r.CallNeeds = nil
	for _, call := range slices.SortedFunc(maps.Keys(calls), func(a, b *Module) int { return a.Index - b.Index }) {
		need := CallNeed{Call: call}
		for _, i := range set.all() {
			if of := f.b.g.Resources[i]; !others.has(i) && of.managedIn(call) {
				need.Of = append(need.Of, of)
			}
		}
		if need.Of != nil {
			r.CallNeeds = append(r.CallNeeds, need)
		}
	}
}

// passSiblingReads finds the arguments that read siblings and that a node depends on without a
// managed resource in between.
func (f *nearest) passSiblingReads(n *Node) {
	if len(f.b.g.splitCalls) == 0 || n.Kind == KindPart {
		return
	}
	var out []*Value
	if v, ok := n.Object.(*Value); ok && n.Split {
		isOfValue := func(read siblingRead) bool { return read.to == v }
		if slices.ContainsFunc(f.b.siblingReads[v.Module], isOfValue) {
			out = append(out, v)
		}
	}
	for _, to := range f.edges.Needs(n.ID) {
		other := f.b.g.Nodes[to]
		if other.Kind == KindPart || other.completes() && other.Resource.Addr.Resource.Mode == addrs.Managed {
			continue
		}
		for _, v := range f.arguments[to] {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	if out != nil {
		f.arguments[n.ID] = out
	}
}

// setSiblingNeeds stores the result of the search for the nodes of all split calls.
func (f *nearest) setSiblingNeeds() {
	done := map[*splitCall]bool{}
	for _, call := range f.b.g.splitCalls {
		if !done[call] {
			done[call] = true
			call.setNeeds(f)
		}
	}
}

// setNeeds stores the result of the search for the nodes of the call.
func (r *splitCall) setNeeds(f *nearest) {
	r.behind, r.arguments, r.outputsFor = map[*Value][]*Resource{}, map[*Node][]*Value{}, map[*Value][]*Value{}
	for n := range r.parts {
		r.arguments[n] = f.arguments[n.ID]
	}
	for _, read := range f.b.siblingReads[r.Call] {
		r.outputsFor[read.to] = append(r.outputsFor[read.to], read.read.Outputs()...)
		for _, v := range read.read.Outputs() {
			var of []*Resource
			for _, i := range f.reached[v.Node.ID].all() {
				of = append(of, f.b.g.Resources[i])
			}
			r.behind[v] = of
		}
	}
}

// siblingNeedsOf returns the resources on which a resource depends in sibling instances.
func (g *Graph) siblingNeedsOf(r *Resource) []*Resource {
	call := g.splitCalls[r.Inputs]
	if call == nil {
		return nil
	}
	var out []*Resource
	for _, v := range call.arguments[r.Inputs] {
		for _, output := range call.outputsFor[v] {
			out = append(out, call.behind[output]...)
		}
	}
	return out
}

// SiblingNeed describes the dependency of an instance of a module call on a sibling: it depends on
// the instances of the resources Of in the module instance In.
type SiblingNeed struct {
	In addrs.ModuleInstance
	Of []*Resource
}

// SiblingNeeds returns what the instances of a resource in one module instance depend on in sibling
// instances of a module call. It has one entry for each output of a sibling that depends on
// resources.
func (g *Graph) SiblingNeeds(r *Resource, in addrs.ModuleInstance) []SiblingNeed {
	call := g.splitCalls[r.Inputs]
	if call == nil {
		return nil
	}
	at, ok := call.at[outermost(in, call.depth)]
	if !ok {
		return nil
	}
	type valueAt struct {
		at int
		v  *Value
	}
	var out []SiblingNeed
	var todo []valueAt
	seen := map[valueAt]bool{}
	add := func(at int, list []*Value) {
		for _, v := range list {
			if p := (valueAt{at, v}); !seen[p] {
				seen[p] = true
				todo = append(todo, p)
			}
		}
	}
	add(at, call.arguments[r.Inputs])
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		for _, s := range call.sources[p.at] {
			if s.to != p.v {
				continue
			}
			for _, output := range s.outputs {
				if of := call.behind[output]; len(of) > 0 && !seen[valueAt{s.from, output}] {
					out = append(out, SiblingNeed{call.list[s.from], of})
				}
				seen[valueAt{s.from, output}] = true
				add(s.from, call.arguments[output.Node])
			}
		}
	}
	return out
}
