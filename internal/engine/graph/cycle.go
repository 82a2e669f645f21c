package graph

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/dag"
	"tofu/internal/tfdiags"
)

// referencePlaces are where the references stand that made edges of the graph. Only an error message needs them, so they are found by
// making the edges once more instead of being kept for every edge of every graph.
type refRanges struct {
	byEdge  map[[2]dag.ID]hcl.Range
	current *hcl.Range // of the reference that is being connected; nil between references
}

func (p *refRanges) record(from, to dag.ID) {
	if p == nil || p.current == nil {
		return
	}
	if _, known := p.byEdge[[2]dag.ID{from, to}]; !known {
		p.byEdge[[2]dag.ID{from, to}] = *p.current
	}
}

// reference says which reference the edges that follow are made for; nil for none.
func (p *refRanges) startRef(at *hcl.Range) {
	if p != nil {
		p.current = at
	}
}

// cycles words each cycle as a way that can be followed in the source.
func (b *build) cycles() tfdiags.Diagnostics {
	if _, ok := b.g.Edges.Order(); ok {
		return nil
	}
	ways := b.g.Edges.Cycles()
	b.refRanges = &refRanges{byEdge: map[[2]dag.ID]hcl.Range{}}
	b.wholeCalls = nil
	_ = referenceTransformer.Run(b) // reports nothing itself
	b.awaitWholeCalls()
	var diags tfdiags.Diagnostics
	for _, way := range ways {
		names := make([]string, 0, len(way))
		var text strings.Builder
		text.WriteString("These objects wait for each other, so none of them can come first:")
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
		}
		diags = diags.Append(tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Cycle: " + strings.Join(names, ", "), Detail: text.String()})
	}
	return diags
}

func place(n *Node) string {
	if n.Range == nil {
		return ""
	}
	return " (" + tfdiags.Place(*n.Range) + ")"
}
