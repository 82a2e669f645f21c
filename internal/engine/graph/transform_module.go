package graph

import (
	"tofu/internal/tfdiags"
)

var moduleTransformer = &Transformer{
	Name:  "Module",
	Doc:   "makes the end of each module wait for what is in it: depends_on of a module call waits for that",
	After: []*Transformer{referenceTransformer, changesTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		for _, n := range b.g.Nodes {
			if n.Module != nil && n.Module.end != nil && n.endsModule() {
				b.after(n.Module.end, n)
			}
		}
		for _, m := range b.g.Modules {
			if m.end != nil && m.Parent.end != nil {
				b.after(m.Parent.end, m.end)
			}
		}
		b.awaitWholeCalls()
		return nil
	},
}

// awaitWholeCalls makes references to whole modules wait for all that is in these. Those that would wait for themselves that way, since
// something in the module needs what refers to it, wait for the outputs alone.
func (b *build) awaitWholeCalls() {
	if len(b.wholeCalls) == 0 {
		return
	}
	g := b.g.Edges.Clone()
	for _, ref := range b.wholeCalls {
		g.Connect(ref.from.ID, ref.call.end.ID)
	}
	cyclic := g.Cyclic()
	for _, ref := range b.wholeCalls {
		b.refRanges.startRef(ref.rng)
		if !cyclic[ref.from.ID] || !cyclic[ref.call.end.ID] {
			b.after(ref.from, ref.call.end)
			continue
		}
		for _, v := range ref.call.Outputs {
			b.after(ref.from, v.Node)
		}
	}
	b.refRanges.startRef(nil)
}

// endsModule tells whether what depends on the node's module waits for the node: not for checks, which may fail, and not for
// deletions, which may themselves have to wait for what depends on the module.
func (n *Node) endsModule() bool {
	switch n.Kind {
	case KindProvider, KindCheck, KindBarrier, KindProviderClose, KindEphemeralEnd:
		return false
	case KindValue, KindInspection:
		return true
	}
	inCheck := n.Resource != nil && n.Resource.nested()
	return !inCheck && !(n.Kind == KindStep && n.deletes())
}
