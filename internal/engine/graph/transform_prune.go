package graph

import (
	"tofu/internal/addrs"
	"tofu/internal/dag"
)

var pruneTransformer = &Transformer{
	Name:  "Prune",
	Doc:   "drops values that no node reads",
	After: []*Transformer{closeTransformer, targetTransformer},
	Run: func(b *build) error {
		if !b.op.Phase.prunes() {
			return nil
		}
		var roots []dag.ID
		for _, n := range b.g.Nodes {
			if b.required(n) {
				roots = append(roots, n.ID)
			}
		}
		keep := b.g.Edges.Reach(roots...)
		if b.op.Phase == PhasePlanDestroy {
			b.fillModules(keep)
		}
		if b.op.Phase.Applies() {
			b.skipUnusedEphemerals(keep)
		}
		b.drop(keep)
		return nil
	},
}

// skipUnusedEphemerals sets Unused for the ephemeral resources whose values no node uses, so that
// they are not opened. A resource without changes uses none: its value comes from the state,
// whatever its block refers to.
func (b *build) skipUnusedEphemerals(keep []bool) {
	var users []dag.ID
	for _, n := range b.g.Nodes {
		if keep[n.ID] && b.usesValues(n) {
			users = append(users, n.ID)
		}
	}
	used := b.g.Edges.ReachThrough(func(id dag.ID) bool { return b.g.Nodes[id].passesValues() }, users...)
	for _, r := range b.g.Resources {
		r.Unused = r.Addr.Resource.Mode == addrs.Ephemeral && !used[r.Node.ID] && !r.Node.kept && !r.HasConditions()
	}
}

// usesValues reports whether a node uses the values that it waits for for more than computing
// values of its own.
func (b *build) usesValues(n *Node) bool {
	switch {
	case n.Kind == KindProvider, n.kept:
		return true
	case n.Resource == nil:
		return false
	}
	return len(b.steps[n.Resource]) > 0 ||
		n.Resource.Addr.Resource.Mode == addrs.Ephemeral && n.Resource.HasConditions()
}

// passesValues reports whether the dependents of a node may receive through it the values that the
// node waits for.
func (n *Node) passesValues() bool {
	ephemeral := n.Resource != nil && n.Resource.Addr.Resource.Mode == addrs.Ephemeral
	return n.Kind.IsValue() || ephemeral || n.Kind.isBarrier() && n.Resource == nil
}

// fillModules makes resources wait for the instances of their module if values are evaluated in it:
// the values of the resources in each module instance are taken from the state.
func (b *build) fillModules(keep []bool) {
	for _, r := range b.g.Resources {
		if m := r.Module; m.expand != nil && keep[m.expand.ID] {
			b.after(r.Node, m.expand)
		}
	}
}

// required reports whether a node has to run even if no other node depends on it.
func (b *build) required(n *Node) bool {
	switch n.Kind {
	case KindStep:
		return true
	case KindValue, KindCheck, KindInspection:
		return n.kept && !b.op.Phase.Destroys()
	case KindExpand, KindResource, KindResourceIn:
		return n.kept || b.op.Phase == PhasePlanDestroy && len(n.Resource.Prior) > 0
	}
	return false
}

// drop drops the nodes that are not in keep, except Barriers. They remain as vertices that do
// nothing and wait for nothing.
func (b *build) drop(keep []bool) {
	for id, n := range b.g.Nodes {
		if keep[id] || n.Kind.isBarrier() {
			continue
		}
		n.Dropped, n.Problems = true, nil
		b.g.Edges.Disconnect(dag.ID(id))
	}
}
