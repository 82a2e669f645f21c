package engine

import (
	"slices"

	"tofu/internal/dag"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

var replaceTransformer = &Transformer{
	Name:  "Replace",
	Doc:   "finds each resource's nearest dependencies, and forces create_before_destroy along dependency chains",
	After: []*Transformer{referenceTransformer, instancesTransformer, moduleTransformer, changesTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		order, ok := b.g.edges.Order()
		if !ok {
			return nil // the cycle is reported at the end
		}
		b.nearest(order)
		for _, r := range b.g.resources {
			r.createFirst = r.asksToCreateFirst()
		}
		for _, id := range slices.Backward(order) { // dependents first
			r := b.g.nodes[id].Resource
			if r == nil || b.g.nodes[id] != r.node || !r.createFirst {
				continue
			}
			for _, dep := range r.deps {
				b.g.byConfig[dep].createFirst = true
			}
		}
		b.forceSteps(order)
		return nil
	},
}

// forceSteps finds the steps that others which create before they destroy depend on.
func (b *build) forceSteps(order []dag.ID) {
	if len(b.steps) == 0 {
		return
	}
	forced := make([]bool, len(b.g.nodes))
	for _, steps := range b.steps {
		for _, s := range steps { // what forced this one need not have a step itself
			forced[s.node.ID] = s.part == stepApply && s.change.Action == plans.CreateThenDelete
		}
	}
	for _, id := range slices.Backward(order) { // dependents first
		n := b.g.nodes[id]
		if n.Kind == KindStep && !n.deletes() && n.Resource.asksToCreateFirst() {
			forced[id] = true
		}
		if forced[id] {
			for _, need := range b.g.edges.Needs(id) {
				forced[need] = true
			}
		}
	}
	for _, steps := range b.steps {
		for _, s := range steps {
			s.forced = forced[s.node.ID]
		}
	}
}

// asksToCreateFirst tells whether the resource's own block says so.
func (r *resource) asksToCreateFirst() bool { return r.cfg != nil && r.cfg.CreateBeforeDestroy }

var flagTransformer = &Transformer{
	Name:  "Flag",
	Doc:   "finds the resources whose objects are to be noted as created before destroyed: a part that is left out forces nobody",
	After: []*Transformer{replaceTransformer, targetTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		for _, r := range b.g.resources {
			r.noteFirst = r.asksToCreateFirst()
		}
		order, _ := b.g.edges.Order()
		for _, id := range slices.Backward(order) { // dependents first
			if r := b.g.nodes[id].Resource; r != nil && b.g.nodes[id] == r.node && r.noteFirst && !r.node.Dropped {
				for _, dep := range r.deps {
					b.g.byConfig[dep].noteFirst = true
				}
			}
		}
		return nil
	},
}
