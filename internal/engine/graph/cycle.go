package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/dag"
	"tofu/internal/tfdiags"
)

// refRanges holds the source ranges of the references that became edges. Only the error for a cycle
// needs them. So when there is a cycle, the references are connected a second time to record the
// ranges. This avoids storing a range for every edge of every graph.
type refRanges struct {
	byEdge  map[[2]dag.ID]hcl.Range
	current *hcl.Range // reference being connected; may be nil
}

func (p *refRanges) record(from, to dag.ID) {
	if p == nil || p.current == nil {
		return
	}
	if _, known := p.byEdge[[2]dag.ID{from, to}]; !known {
		p.byEdge[[2]dag.ID{from, to}] = *p.current
	}
}

// startRef sets the range of the reference from which the following edges come. It may be nil.
func (p *refRanges) startRef(at *hcl.Range) {
	if p != nil {
		p.current = at
	}
}

// cycles returns an error for each cycle. The error lists the references that form the cycle.
func (b *build) cycles(ctx context.Context) error {
	if b.g.Edges.Acyclic() {
		return nil
	}
	ways := b.g.Edges.Cycles()
	b.refRanges = &refRanges{byEdge: map[[2]dag.ID]hcl.Range{}}
	b.wholeCalls = nil
	_ = referenceTransformer.Run(ctx, b) // errors were reported by the first run
	b.awaitWholeCalls()
	var errs tfdiags.Diagnostics
	for _, way := range ways {
		names := make([]string, 0, len(way))
		var text strings.Builder
		text.WriteString("These objects depend on each other, so none of them can come first:")
		calls := map[*Module]bool{} // module calls that have an argument which reads single instances of another call
		for i, id := range way {
			n, next := b.g.Nodes[id], b.g.Nodes[way[(i+1)%len(way)]]
			if !n.Kind.isBarrier() || n.Range != nil {
				names = append(names, n.Name)
			}
			if at, ok := b.refRanges.byEdge[[2]dag.ID{n.ID, next.ID}]; ok {
				fmt.Fprintf(&text, "\n  - %s refers to %s at %s", n.Name, next.Name, tfdiags.Place(at))
			} else {
				fmt.Fprintf(&text, "\n  - %s%s needs %s", n.Name, place(n), next.Name)
			}
			if v, ok := n.Object.(*Value); ok && v.Kind == Variable && v.readsCall(next.Module) {
				calls[v.Module] = true
			}
		}
		if len(calls) > 1 {
			text.WriteString("\n\nInstances of different module calls can't refer to each other. The instances of one " +
				"call can: put what is in these modules into one.")
		}
		errs = errs.Append(
			tfdiags.Diagnostic{
				Severity: tfdiags.Error,
				Summary:  "Cycle: " + strings.Join(names, ", "),
				Detail:   text.String(),
			},
		)
	}
	return errs.Err()
}

// readsCall reports whether a value reads single instances of a module call.
func (v *Value) readsCall(call *Module) bool {
	return slices.ContainsFunc(v.CallReads, func(read CallRead) bool { return read.Call == call })
}

func place(n *Node) string {
	if n.Range == nil {
		return ""
	}
	return " (" + tfdiags.Place(*n.Range) + ")"
}
