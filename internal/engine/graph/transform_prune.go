package graph

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
)

var pruneTransformer = &Transformer{
	Name:  "Prune",
	Doc:   "drops values that no node reads",
	After: []*Transformer{closeTransformer, targetTransformer},
	Run: func(_ context.Context, b *build) error {
		if !b.op.Phase.Prunes() {
			return nil
		}
		p := &pruning{b: b}
		p.keep = b.g.Edges.Reach(p.roots()...)
		if b.op.Phase == phase.PlanDestroy {
			p.fillModules()
		}
		if b.op.Phase.Applies() {
			p.skipUnusedEphemerals()
		}
		b.drop(p.keep)
		return nil
	},
}

// pruning finds the nodes that have to run.
type pruning struct {
	b    *build
	keep []bool // by node ID: whether the node has to run
}

// roots returns the nodes that have to run even if no other node depends on them.
func (p *pruning) roots() []dag.ID {
	var out []dag.ID
	for _, n := range p.b.g.Nodes {
		if p.required(n) {
			out = append(out, n.ID)
		}
	}
	return out
}

// skipUnusedEphemerals adds to Unused the nodes that would open ephemeral objects whose values no
// node uses, so these objects are not opened. A resource without changes uses no values, even if
// its block refers to them, because its own value comes from the state.
func (p *pruning) skipUnusedEphemerals() {
	var users []dag.ID
	for _, n := range p.b.g.Nodes {
		if p.keep[n.ID] && p.usesValues(n) {
			users = append(users, n.ID)
		}
	}
	used := p.b.g.Edges.ReachThrough(func(id dag.ID) bool { return passesValues(p.b.g.Nodes[id]) }, users...)
	for _, r := range p.b.g.Resources {
		if r.Addr.Resource.Mode != addrs.Ephemeral || r.HasConditions() {
			continue
		}
		if !used[r.Node.ID] {
			p.b.g.Unused[r.Node] = true
		}
		for _, s := range p.b.steps[r] {
			if !used[s.Node.ID] {
				p.b.g.Unused[s.Node] = true
			}
		}
	}
}

// usesValues reports whether a node needs the values that it waits for, other than to pass them on
// as part of its own value. For example, it may configure a provider.
func (p *pruning) usesValues(n *reads.Node) bool {
	switch {
	case n.Kind == reads.KindProvider, n.Kept:
		return true
	case n.Resource == nil:
		return false
	}
	if n.Resource.Addr.Resource.Mode == addrs.Ephemeral {
		return n.Resource.HasConditions()
	}
	return len(p.b.steps[n.Resource]) > 0
}

// passesValues reports whether nodes that wait for the node may receive, through it, the values
// that the node itself waits for.
func passesValues(n *reads.Node) bool {
	ephemeral := n.Resource != nil && n.Resource.Addr.Resource.Mode == addrs.Ephemeral
	return n.Kind.IsValue() || n.Kind == reads.KindPlace || ephemeral || n.Kind.IsBarrier() && n.Resource == nil
}

// fillModules makes resources wait for the instances of their module if values are evaluated in the
// module. The values of the resources in each of these instances then come from the state.
func (p *pruning) fillModules() {
	for _, r := range p.b.g.Resources {
		if m := r.Module; m.Expand != nil && p.keep[m.Expand.ID] {
			p.b.after(r.Node, m.Expand)
		}
	}
}

// required reports whether a node has to run even if no other node depends on it.
func (p *pruning) required(n *reads.Node) bool {
	switch n.Kind {
	case reads.KindStep:
		return !n.Step().Opens()
	case reads.KindValue, reads.KindCheck, reads.KindInspection, reads.KindAction:
		return n.Kept && !p.b.op.Phase.Destroys()
	case reads.KindExpand, reads.KindResource:
		return p.b.op.Phase == phase.PlanDestroy && len(n.Resource.Prior) > 0
	}
	return false
}

// drop marks the nodes that are not in keep as dropped, except Barriers. Dropped nodes stay in the
// graph, but do nothing and wait for nothing.
func (b *build) drop(keep []bool) {
	for id, n := range b.g.Nodes {
		if keep[id] || n.Kind.IsBarrier() {
			continue
		}
		n.Dropped, n.Problems = true, nil
		b.g.Edges.Disconnect(dag.ID(id))
	}
}
