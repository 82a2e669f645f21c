package graph

import (
	"context"
	"slices"

	"tofu/internal/dag"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
)

// drawDestruction replaces the edges between resources with the order in which they would be
// destroyed. The graph of planning has no such order, because planning does not need it.
func drawDestruction(b *build) {
	for _, r := range b.g.Resources {
		b.g.Edges.Disconnect(r.Node.ID)
		if len(r.Prior) > 0 {
			b.after(r.Node, r.Provider.Node)
		}
	}
	for _, r := range b.g.Resources {
		for dep := range r.StoredDependencies() {
			if other := b.g.Resource(dep); other != nil {
				b.after(other.Node, r.Node)
			}
		}
	}
}

// dropIdle drops providers without users. It also drops resources that do not change, unless an
// evaluated value needs them. A walk visits such resources to build their values, but in a drawing
// they only distract.
func dropIdle(b *build) {
	changed := make(map[*reads.Resource]bool)
	for r, steps := range b.steps {
		changed[r] = slices.ContainsFunc(steps, func(s *reads.Step) bool { return s.Part == reads.StepApply })
	}
	var busy []dag.ID
	for id, n := range b.g.Nodes {
		switch {
		case n.Kind == reads.KindStep,
			n.Kind.IsResource() && (changed[n.Resource] || b.op.Phase == phase.PlanDestroy && len(n.Resource.Prior) > 0),
			n.Kind.IsResource() && n.Resource.Nested() && b.op.Phase.Checks():
			busy = append(busy, dag.ID(id))
		case n.Kind.IsValue() && n.Kept && !b.op.Phase.Destroys():
			for _, need := range b.g.Edges.Needs(dag.ID(id)) {
				if to := b.g.Nodes[need]; to.Resource == nil && to.Kind != reads.KindPlace {
					busy = append(busy, need)
				}
			}
		}
	}
	keep := b.g.Edges.Reach(busy...)
	for id, n := range b.g.Nodes {
		if !n.Kind.IsResource() && n.Kind != reads.KindProvider {
			keep[id] = true
		}
	}
	b.drop(keep)
}

// blocksTransformer prepares the graph of an apply for a drawing. A walk evaluates values, and decides
// the instances of blocks, when they are first read. A drawing shows them as nodes.
var blocksTransformer = &Transformer{
	Name:  "Blocks",
	Doc:   "adds the references between blocks and values to the graph of an apply",
	After: []*Transformer{instancesTransformer, closeTransformer, targetTransformer},
	Run: func(_ context.Context, b *build) error {
		for _, r := range b.g.Resources {
			if r.Config != nil {
				r.Inputs = b.drawnInputs(r)
			}
		}
		for id, n := range b.g.Nodes[:b.blocks.Len()] {
			r := n.Resource
			waits, apart := n, map[*reads.Node]bool(nil)
			if r != nil && r.Config != nil && n == r.Node {
				waits, apart = r.Inputs, b.order.reads.ReadByKey(r)
			}
			for _, id := range b.blocks.Needs(dag.ID(id)) {
				switch need := b.g.Nodes[id]; {
				case !apart[need]:
					b.after(waits, need)
				case need.Resource != nil: // the Steps wait for single instances
					b.after(waits, need.Resource.Inputs)
					b.afterConstant(waits, r, need.Resource)
				}
			}
		}
		for r, steps := range b.steps {
			for _, s := range steps {
				if s.Part == reads.StepApply && r.Config != nil {
					b.after(s.Node, r.Inputs)
					b.after(r.Node, s.Node)
				}
			}
		}
		return nil
	},
}

// drawnInputs adds the node that decides the instances of a resource before their Steps, which a
// drawing shows.
func (b *build) drawnInputs(r *reads.Resource) *reads.Node {
	out := b.node(reads.KindExpand, r.Module, r.Node.Name+" (expand)", r.Node.Range)
	out.Resource = r
	b.after(r.Node, out)
	b.after(r.Provider.Close, out)
	return out
}

// afterConstant makes n, which decides the instances of r, wait for the instances of another resource
// that r reads only by constant keys.
func (b *build) afterConstant(n *reads.Node, r, of *reads.Resource) {
	for _, read := range r.ByKey {
		for _, s := range b.steps[of] {
			one := func(ref lang.InstanceRef) bool { return ref.Key == s.Change.Addr.Key }
			if read.Of == of && !read.Recorded(r) && s.Part == reads.StepApply && slices.ContainsFunc(read.Refs, one) {
				b.after(n, s.Node)
			}
		}
	}
}
