package graph

import "context"

// checksStartName is the name of the Barrier that the data sources in check blocks wait for.
const checksStartName = "(execute checks)"

var checkTransformer = &Transformer{
	Name:  "Check",
	Doc:   "makes the data sources of check blocks wait for all changes",
	After: []*Transformer{referenceTransformer, changesTransformer, targetTransformer, pruneTransformer},
	Run: func(_ context.Context, b *build) error {
		if !b.op.Phase.Checks() || !b.op.Phase.Applies() {
			return nil
		}
		var start *Node
		for _, r := range b.g.Resources {
			if !r.nested() {
				continue
			}
			if start == nil {
				start = b.node(KindBarrier, nil, checksStartName, nil)
				for _, other := range b.g.Resources {
					if !other.nested() && (len(b.steps[other]) > 0 || other.HasConditions()) {
						for _, s := range b.steps[other] {
							b.after(start, s.node)
						}
					}
				}
			}
			if r.Inputs != r.Node { // in a drawing
				b.after(r.Inputs, start)
			}
			for _, s := range b.steps[r] {
				b.after(s.node, start)
			}
		}
		return nil
	},
}

// Tolerates reports whether a node is visited even if another node, which it waits for, fails. The
// data sources of check blocks are read although an object could not be deleted, because the checks
// are about the objects that the configuration declares.
func (n *Node) Tolerates(failed *Node) bool {
	s, ok := failed.Object.(*Step)
	return ok && s.Removes() && n.Name == checksStartName
}

// nested reports whether the resource is the data source of a check block.
func (r *Resource) nested() bool { return r.Config != nil && r.Config.Check != nil }
