package graph

import (
	"context"
	"slices"

	"tofu/internal/dag"
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
		for dep := range r.storedDeps() {
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
	changed := make(map[*Resource]bool)
	for r, steps := range b.steps {
		changed[r] = slices.ContainsFunc(steps, func(s *Step) bool { return s.Part == stepApply })
	}
	var busy []dag.ID
	for id, n := range b.g.Nodes {
		switch {
		case n.Kind == KindStep,
			n.Kind.IsResource() && (changed[n.Resource] || b.op.Phase == PhasePlanDestroy && len(n.Resource.Prior) > 0),
			n.Kind.IsResource() && n.Resource.nested() && b.op.Phase.Checks():
			busy = append(busy, dag.ID(id))
		case n.Kind.IsValue() && n.kept && !b.op.Phase.Destroys():
			for _, need := range b.g.Edges.Needs(dag.ID(id)) {
				if to := b.g.Nodes[need]; to.Resource == nil && to.Kind != KindPlace {
					busy = append(busy, need)
				}
			}
		}
	}
	keep := b.g.Edges.Reach(busy...)
	for id, n := range b.g.Nodes {
		if !n.Kind.IsResource() && n.Kind != KindProvider {
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
			if r.Config == nil {
				continue
			}
			r.Inputs = b.node(KindExpand, r.Module, r.Addr.String()+" (expand)", r.Node.Range)
			r.Inputs.Resource = r
			b.after(r.Node, r.Inputs)
			for _, s := range b.steps[r] {
				if s.Part == stepApply {
					b.after(s.node, r.Inputs)
					b.after(r.Node, s.node)
				}
			}
		}
		for id, n := range b.g.Nodes[:b.blocks.Len()] {
			if r := n.Resource; r != nil && n == r.Node {
				n = r.Inputs
			}
			for _, need := range b.blocks.Needs(dag.ID(id)) {
				b.after(n, b.g.Nodes[need])
			}
		}
		return nil
	},
}
