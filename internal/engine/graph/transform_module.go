package graph

import "context"

var moduleTransformer = &Transformer{
	Name:  "Module",
	Doc:   "makes the end of each module wait for everything in it, so that depends_on can wait for a module",
	After: []*Transformer{referenceTransformer, changesTransformer},
	Run: func(_ context.Context, b *build) error {
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

// awaitWholeCalls makes references to a module call as a whole wait for everything in the module.
// If that would form a cycle because something in the module depends on the referring node, the
// node waits only for the module's outputs.
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
			b.afterCall(ref.from, ref.call, ref.call.end)
			continue
		}
		for _, v := range ref.call.Outputs {
			b.afterCall(ref.from, ref.call, v.Node)
		}
	}
	b.refRanges.startRef(nil)
}

// afterCall makes n wait for a part of the module call that n refers to. to is the node of this
// part. If n reads single instances of the call, the edge is only recorded; connectCalls or
// connectSteps adds it later.
func (b *build) afterCall(n *Node, call *Module, to *Node) {
	if b.readsKeyed(n, call) {
		b.later[n] = append(b.later[n], laterEdge{call, to})
		return
	}
	b.after(n, to)
}

// endsModule reports whether nodes that depend on the module wait for the node. They do not wait
// for checks, because a check may fail. They do not wait for deletions, because a deletion may have
// to wait for them.
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
