package engine

import (
	"tofu/internal/tfdiags"
)

// checksStartName is the name of the Barrier that nested data sources wait for.
const checksStartName = "(execute checks)"

var checkTransformer = &Transformer{
	Name:  "Check",
	Doc:   "reads the data sources that are nested in checks after all changes, which they are to judge",
	After: []*Transformer{referenceTransformer, changesTransformer, targetTransformer, pruneTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		if !b.op.phase.Checks() || !b.op.phase.Applies() {
			return nil
		}
		var start *Node
		for _, r := range b.g.resources {
			if !r.nested() {
				continue
			}
			if start == nil {
				start = b.node(KindBarrier, nil, checksStartName, nil)
				for _, other := range b.g.resources {
					if !other.nested() && (len(b.steps[other]) > 0 || other.hasConditions()) {
						b.after(start, other.node)
						for _, s := range b.steps[other] {
							b.after(start, s.node)
						}
					}
				}
			}
			b.after(r.open, start)
		}
		return nil
	},
}

// nested tells whether the resource is a data source of a check.
func (r *resource) nested() bool { return r.cfg != nil && r.cfg.Check != nil }
