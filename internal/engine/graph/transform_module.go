package graph

import "tofu/internal/engine/reads"
import "context"

var moduleTransformer = &Transformer{
	Name:  "Module",
	Doc:   "makes the end of each module wait for everything in it, so that depends_on can wait for a module",
	After: []*Transformer{referenceTransformer, changesTransformer},
	Run: func(_ context.Context, b *build) error {
		for _, n := range b.g.Nodes {
			if n.Module != nil && n.Module.End != nil && endsModule(n) {
				b.after(n.Module.End, n)
			}
		}
		for _, m := range b.g.Modules {
			if m.End != nil && m.Parent.End != nil {
				b.after(m.Parent.End, m.End)
			}
		}
		b.awaitWholeCalls()
		return nil
	},
}

// awaitWholeCalls makes references to a module call as a whole wait for everything in the module.
// If that would form a cycle because something in the module depends on the referring node, the
// node waits only for the module's outputs.
func (b *build) awaitWholeCalls() {
	if len(b.wholeCalls) == 0 {
		return
	}
	g := b.g.Edges.Clone()
	for _, ref := range b.wholeCalls {
		g.Connect(ref.from.ID, ref.call.End.ID)
	}
	cyclic := g.Cyclic()
	for _, ref := range b.wholeCalls {
		b.refRanges.startRef(ref.rng)
		if !cyclic[ref.from.ID] || !cyclic[ref.call.End.ID] {
			b.after(ref.from, ref.call.End)
			continue
		}
		for _, v := range ref.call.Outputs {
			b.after(ref.from, v.Node)
		}
	}
	b.refRanges.startRef(nil)
}

// endsModule reports whether nodes that depend on the module wait for the node. They do not wait
// for checks, because a check may fail. Steps are ordered later.
func endsModule(n *reads.Node) bool {
	switch n.Kind {
	case reads.KindProvider, reads.KindCheck, reads.KindAction, reads.KindBarrier, reads.KindProviderClose, reads.KindEphemeralEnd:
		return false
	case reads.KindValue, reads.KindInspection:
		return true
	}
	return n.Kind != reads.KindStep && !(n.Resource != nil && n.Resource.Nested())
}
