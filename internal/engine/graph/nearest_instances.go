package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
)

// siblingNeeds describes what resources depend on through arguments that read sibling instances of
// their module call. The graph of references has no edges for these reads.
type siblingNeeds struct {
	// arguments holds, by node, the arguments that read siblings and that the node depends on without
	// a managed resource in between.
	arguments map[*reads.Node][]*reads.Value
	behind    map[*reads.Value][]*reads.Resource // by argument, the resources that the outputs it reads depend on
}

// passSiblingReads sets the arguments of n.
func (f *nearest) passSiblingReads(n *reads.Node) {
	if len(f.b.g.Siblings) == 0 {
		return
	}
	var out []*reads.Value
	if v := n.Value(); v != nil {
		isOfValue := func(read reads.SiblingRead) bool { return read.To == v }
		if slices.ContainsFunc(f.b.g.Siblings[v.Module], isOfValue) {
			out = append(out, v)
		}
	}
	for _, to := range f.edges.Needs(n.ID) {
		other := f.b.g.Nodes[to]
		managed := other.Kind == reads.KindResource && other.Resource.Addr.Resource.Mode == addrs.Managed
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
	for _, reads := range f.b.g.Siblings {
		for _, read := range reads {
			for _, v := range read.Read.Outputs() {
				for _, i := range f.reached[v.Node.ID].all() {
					f.b.siblings.behind[read.To] = append(f.b.siblings.behind[read.To], f.b.g.Resources[i])
				}
			}
		}
	}
}

// of returns the resources in sibling instances that a resource depends on.
func (s *siblingNeeds) of(r *reads.Resource) []*reads.Resource {
	var out []*reads.Resource
	for _, v := range s.arguments[r.Inputs] {
		out = append(out, s.behind[v]...)
	}
	return out
}
