package graph

import (
	"tofu/internal/dag"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
)

// How a plan waits for instances
//
// In the graph of a plan, a resource is one node, however many instances it has. If a block reads
// another resource only by instance, both resources get a second node, which decides the instances
// and begins to plan them. The second node of the block waits for everything that the block refers
// to. For the other resource, it waits only until the instances of that resource are decided. At
// that point it is known which instances wait for which, and the walk orders their plans itself.
// The resource's own node comes after the plans of all of its instances. So everything that reads a
// resource as a whole waits as before, and no edge connects instances.

// separateInstances adds a node before each resource that reads other resources by instance or is
// read by instance. The graph has no cycles before this, and none afterwards: the new nodes take
// over the edges of the resources.
func (b *build) separateInstances() {
	if b.op.Phase != phase.Plan {
		return
	}
	for _, r := range b.g.Resources {
		whole := map[dag.ID]bool{}
		for _, read := range r.ByKey {
			if read.Whole {
				continue
			}
			b.separate(r)
			if read.Of == r {
				continue
			}
			b.separate(read.Of)
			b.after(r.Node, read.WholeNode()) // a reader of all of r then also waits for everything that r reads
			b.after(r.Inputs, read.Of.Inputs)
			b.after(r.Inputs, read.Expansions()...)
			whole[read.WholeNode().ID] = true
		}
		b.g.Edges.Remove(r.Inputs.ID, func(id dag.ID) bool { return whole[id] })
	}
	b.orderPlan()
}

// separate adds a node that decides the instances of a resource, and waits for all that the
// resource needs.
func (b *build) separate(r *reads.Resource) {
	if r.Inputs != r.Node {
		return
	}
	n := b.node(reads.KindExpand, r.Node.Module, r.Addr.String()+" (expand)", r.Node.Range)
	n.Resource, n.Problems, n.Dropped = r, r.Node.Problems, r.Node.Dropped
	b.after(n, b.needs(r.Node)...)
	b.g.Edges.Disconnect(r.Node.ID)
	b.after(r.Node, n)
	r.Inputs = n
}

// needs returns the nodes that n waits for.
func (b *build) needs(n *reads.Node) []*reads.Node {
	var out []*reads.Node
	for _, id := range b.g.Edges.Needs(n.ID) {
		out = append(out, b.g.Nodes[id])
	}
	return out
}
