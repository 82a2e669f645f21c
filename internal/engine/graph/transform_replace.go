package graph

import (
	"context"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
)

var replaceTransformer = &Transformer{
	Name:  "Replace",
	Doc:   "finds the nearest dependencies of resources, and applies create_before_destroy to dependencies",
	After: []*Transformer{referenceTransformer, instancesTransformer, moduleTransformer, changesTransformer},
	Run: func(_ context.Context, b *build) error {
		order, ok := b.refs().Order()
		if !ok {
			return nil // the cycle is reported at the end
		}
		b.findNearest(order)
		if b.g.Repeats {
			b.g.refs = b.refs()
			if b.blocks == nil { // later transformers change the edges
				b.g.refs = b.g.Edges.Clone()
			}
		}
		for _, r := range b.g.Resources {
			r.CreateBeforeDestroy = r.CreatesFirst()
		}
		b.forceFirst(order, func(r *reads.Resource) *bool { return &r.CreateBeforeDestroy })
		b.forceSteps()
		return nil
	},
}

// forceFirst propagates a flag. If a resource has the flag, all resources that it depends on get it
// too.
func (b *build) forceFirst(order []dag.ID, flag func(*reads.Resource) *bool) {
	for again := true; again; {
		again = false
		for _, id := range slices.Backward(order) { // dependents first
			r := b.g.Nodes[id].Resource
			if r == nil || b.g.Nodes[id] != r.Node || !*flag(r) || r.Node.Dropped {
				continue
			}
			for dep := range r.Recorded.Dependencies.All() {
				*flag(b.g.Resource(dep)) = true
			}
			for _, of := range b.siblings.of(r) { // order does not include these dependencies
				again = again || !*flag(of)
				*flag(of) = true
			}
		}
	}
}

// forceSteps sets Forced for the Steps that a resource with create_before_destroy depends on. It
// also sets Forced for Steps with the same key in other instances of their module, because other
// programs make a reader in one module instance depend on all module instances.
func (b *build) forceSteps() {
	order, ok := b.g.Edges.Order()
	if len(b.steps) == 0 || !ok {
		return
	}
	forced := make([]bool, len(b.g.Nodes))
	for _, steps := range b.steps {
		for _, s := range steps { // the resource that sets the flag may have no Steps, so use the planned actions
			forced[s.Node.ID] = s.Part == reads.StepApply && s.Change.Action == plans.CreateThenDelete
		}
	}
	for _, id := range slices.Backward(order) { // dependents first
		n := b.g.Nodes[id]
		if s := n.Step(); s != nil && !s.Removes() && n.Resource.CreatesFirst() {
			forced[id] = true
		}
		if forced[id] {
			for _, need := range b.g.Edges.Needs(id) {
				forced[need] = true
			}
		}
	}
	for _, steps := range b.steps {
		keys := map[addrs.InstanceKey]bool{}
		for _, s := range steps {
			key := s.Change.Addr.Key
			keys[key] = keys[key] || forced[s.Node.ID]
		}
		for _, s := range steps {
			s.Forced = keys[s.Change.Addr.Key]
		}
	}
}

var flagTransformer = &Transformer{
	Name:  "Flag",
	Doc:   "finds the resources whose objects are stored with create_before_destroy; dropped resources force no others",
	After: []*Transformer{replaceTransformer, targetTransformer},
	Run: func(_ context.Context, b *build) error {
		for _, r := range b.g.Resources {
			r.Recorded.CreateBeforeDestroy = r.CreatesFirst()
		}
		order, _ := b.refs().Order()
		b.forceFirst(order, func(r *reads.Resource) *bool { return &r.Recorded.CreateBeforeDestroy })
		return nil
	},
}
