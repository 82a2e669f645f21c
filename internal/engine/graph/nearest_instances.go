package graph

import (
	"slices"

	"tofu/internal/addrs"
)

// siblingNeeds describes what resources depend on through arguments that read sibling instances of
// their module call. The graph of references has no edges for these reads.
type siblingNeeds struct {
	// arguments holds, by node, the arguments that read siblings and that the node depends on without
	// a managed resource in between.
	arguments map[*Node][]*Value
	behind    map[*Value][]*Resource // by argument, the resources that the outputs it reads depend on
}

// passSiblingReads sets the arguments of n.
func (f *nearest) passSiblingReads(n *Node) {
	if len(f.b.siblingReads) == 0 {
		return
	}
	var out []*Value
	if v, ok := n.Object.(*Value); ok {
		isOfValue := func(read siblingRead) bool { return read.to == v }
		if slices.ContainsFunc(f.b.siblingReads[v.Module], isOfValue) {
			out = append(out, v)
		}
	}
	for _, to := range f.edges.Needs(n.ID) {
		other := f.b.g.Nodes[to]
		managed := other.completes() && other.Resource.Addr.Resource.Mode == addrs.Managed
		if managed {
			continue
		}
		for _, v := range f.b.siblings.arguments[other] {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	if out != nil {
		f.b.siblings.arguments[n] = out
	}
}

// setSiblingNeeds completes the needs of siblings with the results of the search.
func (f *nearest) setSiblingNeeds() {
	for _, reads := range f.b.siblingReads {
		for _, read := range reads {
			for _, v := range read.read.Outputs() {
				for _, i := range f.reached[v.Node.ID].all() {
					f.b.siblings.behind[read.to] = append(f.b.siblings.behind[read.to], f.b.g.Resources[i])
				}
			}
		}
	}
}

// of returns the resources in sibling instances that a resource depends on.
func (s *siblingNeeds) of(r *Resource) []*Resource {
	var out []*Resource
	for _, v := range s.arguments[r.Inputs] {
		out = append(out, s.behind[v]...)
	}
	return out
}
