package graph

import "tofu/internal/engine/reads"
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
		var start *reads.Node
		for _, r := range b.g.Resources {
			if !r.Nested() {
				continue
			}
			if start == nil {
				start = b.node(reads.KindBarrier, nil, checksStartName, nil)
				for _, other := range b.g.Resources {
					if !other.Nested() && (len(b.steps[other]) > 0 || other.HasConditions()) {
						for _, s := range b.steps[other] {
							b.after(start, s.Node)
						}
					}
				}
			}
			if r.Inputs != r.Node { // in a drawing
				b.after(r.Inputs, start)
			}
			for _, s := range b.steps[r] {
				b.after(s.Node, start)
			}
		}
		return nil
	},
}

// Tolerates reports whether a node is visited even if another node, which it waits for, fails. The
// data sources of check blocks are read although an object could not be deleted, because the checks
// are about the objects that the configuration declares.
func Tolerates(n, failed *reads.Node) bool {
	s := failed.Step()
	return s != nil && s.Removes() && n.Name == checksStartName
}
