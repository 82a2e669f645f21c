package graph

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/lang"
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

// AwaitsInstances reports whether the instances of a block wait for single instances of a resource
// in a plan. It returns false if r is nil.
func (r *Resource) AwaitsInstances(of *Resource) bool {
	return r != nil && slices.ContainsFunc(r.Awaited, func(read IndexedRead) bool { return read.Of == of && read.Via == nil })
}

// Awaits reports whether the instances of a block wait in a plan for single instances of read.
func (r *Resource) Awaits(read IndexedRead) bool {
	return slices.ContainsFunc(r.Awaited, read.same)
}

// AwaitsElements reports whether the instances of a block wait for single elements of an alias in a
// plan. It returns false if r is nil.
func (r *Resource) AwaitsElements(v *Value) bool {
	return r != nil && v.Alias != nil && slices.ContainsFunc(r.Awaited, func(read IndexedRead) bool { return read.Via == v })
}

// separateInstances adds a node before each resource that reads other resources by instance or is
// read by instance. The graph has no cycles before this, and none afterwards: the new nodes take
// over the edges of the resources.
func (b *build) separateInstances() {
	for _, r := range b.g.Resources {
		if b.op.Phase == PhasePlan && r.OwnInstances() != nil {
			b.separate(r)
		}
		if len(r.Awaited) == 0 {
			continue
		}
		b.separate(r)
		chain := r.ChainedTo()
		whole := map[dag.ID]bool{}
		for _, read := range r.Awaited {
			of := read.Of
			b.separate(of)
			b.after(r.Node, read.whole()) // a reader of all of r then also waits for everything that r reads
			b.after(r.Inputs, of.Inputs)
			b.after(r.Inputs, read.expansions()...)
			whole[read.whole().ID] = true
			if chain != nil && chain.same(read) {
				r.EachOf = chain
			}
		}
		b.g.Edges.Remove(r.Inputs.ID, func(id dag.ID) bool { return whole[id] })
	}
	if b.op.Phase == PhasePlan {
		b.orderPlan()
	}
}

// separate adds a node that decides the instances of a resource, and waits for all that the
// resource needs.
func (b *build) separate(r *Resource) {
	if r.Inputs != r.Node {
		return
	}
	n := b.node(KindExpand, r.Node.Module, r.Addr.String()+" (expand)", r.Node.Range)
	n.Resource, n.Problems, n.Dropped = r, r.Node.Problems, r.Node.Dropped
	b.after(n, b.needs(r.Node)...)
	b.g.Edges.Disconnect(r.Node.ID)
	b.after(r.Node, n)
	r.Inputs = n
}

// needs returns the nodes that n waits for.
func (b *build) needs(n *Node) []*Node {
	var out []*Node
	for _, id := range b.g.Edges.Needs(n.ID) {
		out = append(out, b.g.Nodes[id])
	}
	return out
}

// awaits reports whether the instances of a block may wait, in a plan, for the instances of a
// resource that they read. They must not if something reads that resource for all instances of the
// block at once; see readsAtOnce. Data sources and ephemeral resources must wait for whole managed
// resources, because they also depend on whether any instance changes.
func (b *build) awaits(r *Resource, read IndexedRead) bool {
	of := read.Of.Addr.Resource
	managed := r.Addr.Resource.Mode == addrs.Managed
	if r.Config.Check != nil || !managed && of.Mode == addrs.Managed {
		return false
	}
	chain := r.ChainedTo()
	if chain != nil && read.Via == nil && chain.same(read) && read.Of.Schema.Block.ContainsDeprecated() { // a warning about the whole for_each
		return false
	}
	return !b.readsAtOnce(r, read)
}

// readsAtOnce reports whether a resource, or an alias of it, is read once for all instances of the
// block r, for example by count or an import block.
func (b *build) readsAtOnce(r *Resource, read IndexedRead) bool {
	names := func(refs *lang.Refs) bool { return read.namedBy(r.Module, refs) }
	chain := r.ChainedTo()
	chained := chain != nil && chain.same(read)
	for refs := range b.readOnce(r) {
		if names(refs) && !(chained && refs == &r.Exprs.Repetition.ForEach.Refs) {
			return true
		}
	}
	for _, own := range r.Exprs.ownInstances(r.Addr.Resource) {
		if chained || own.DependsOn(names) {
			return true
		}
	}
	return false
}
