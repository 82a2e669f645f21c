package graph

import (
	"slices"

	"tofu/internal/addrs"
)

// passSiblingReads sets the entry of n in f.arguments: the arguments that read siblings and that n
// depends on without a managed resource in between.
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
		managed := other.completes() && other.Resource.Addr.Resource.Mode == addrs.Managed
		if other.Kind == KindPart || managed || other.completesOne() {
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

// setSiblingNeeds stores the results of the search for dependencies in all split calls.
func (f *nearest) setSiblingNeeds() {
	done := map[*splitCall]bool{}
	for _, call := range f.b.g.splitCalls {
		if !done[call] {
			done[call] = true
			call.setNeeds(f)
		}
	}
}

// setNeeds stores the results of the search in the call.
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

// siblingNeedsOf returns the resources in sibling instances that a resource depends on.
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
