package engine

import (
	"tofu/internal/dag"
	"tofu/internal/tfdiags"
)

var pruneTransformer = &Transformer{
	Name:  "Prune",
	Doc:   "drops values that nobody reads, in one sweep",
	After: []*Transformer{closeTransformer, targetTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		if !b.phase.prune {
			return nil
		}
		var roots []dag.ID
		for _, n := range b.nodes {
			if b.wanted(n) {
				roots = append(roots, n.ID)
			}
		}
		keep := b.graph.Reach(roots...)
		if b.phase == phasePlanDestroy {
			b.fillModules(keep)
		}
		b.drop(keep)
		return nil
	},
}

// fillModules has the resources wait for the instances of their modules where somebody evaluates something in these: what they have
// in the state becomes their values there.
func (b *build) fillModules(keep []bool) {
	for _, r := range b.resources {
		if m := r.module; m.expand != nil && keep[m.expand.ID] {
			b.after(r.node, m.expand)
		}
	}
}

// wanted tells whether a node has to run for its own sake.
func (b *build) wanted(n *Node) bool {
	switch n.Kind {
	case KindStep:
		return true
	case KindValue:
		return n.final && !b.phase.destroy
	case KindResource:
		return n.final || b.phase == phasePlanDestroy && len(n.resource.prior) > 0
	}
	return false
}

// drop takes the work out of nodes that are not kept; they stay as empty vertices without edges.
func (b *build) drop(keep []bool) {
	for id, n := range b.nodes {
		if keep[id] || n.Kind == KindBarrier {
			continue
		}
		n.Run, n.problems = nil, nil
		b.graph.Disconnect(dag.ID(id))
	}
}
