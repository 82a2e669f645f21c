package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
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

// startRef makes p record at as the range of the reference that the following edges are for. If at
// is nil, no range is recorded. If p is nil, startRef does nothing.
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
		for i, id := range way {
			n, next := b.g.Nodes[id], b.g.Nodes[way[(i+1)%len(way)]]
			if !n.Kind.IsBarrier() || n.Range != nil {
				names = append(names, n.Name)
			}
			if at, ok := b.refRanges.byEdge[[2]dag.ID{n.ID, next.ID}]; ok {
				fmt.Fprintf(&text, "\n  - %s refers to %s at %s", n.Name, next.Name, tfdiags.Place(at))
			} else {
				fmt.Fprintf(&text, "\n  - %s%s needs %s", n.Name, declaredAt(n), next.Name)
			}
		}
		hint := b.g.aliasCycle(way)
		if hint == "" {
			hint = b.g.keyedCycle(way)
		}
		if hint != "" {
			text.WriteString("\n\n" + hint)
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

// aliasCycle returns advice for a cycle in which a block or module call refers to its own instances through
// a local value that is the whole block. It returns "" for all other cycles.
func (g *Graph) aliasCycle(way []dag.ID) string {
	for i, id := range way {
		v := g.Nodes[id].Value()
		reader := g.Nodes[way[(i+len(way)-1)%len(way)]]
		if v == nil || v.Kind != reads.Local || !reader.ReadsOnlyByKey(addrs.LocalValue{Name: v.Name}) {
			continue
		}
		name := v.WholeBlock(len(way))
		inside := func(id dag.ID) bool { // or one of the locals that lead to the block
			n := g.Nodes[id]
			local := n.Value()
			return local != nil && local.Kind == reads.Local && local.Module == v.Module && local.WholeBlock(len(way)) == name ||
				n.Name == name || strings.HasPrefix(n.Name, name+".") || strings.HasPrefix(n.Name, name+" ")
		}
		if name != "" && !slices.ContainsFunc(way, func(id dag.ID) bool { return !inside(id) }) {
			here := strings.TrimPrefix(name, v.Module.Path.String()+".")
			return fmt.Sprintf("Instances of %s can refer to each other, but not through local.%s: refer to them as "+
				"%s[KEY] instead of local.%[2]s[KEY].", name, v.Name, here)
		}
	}
	return ""
}

// keyedCycle returns advice for a cycle in which all references to some blocks select single instances.
// It returns "" for all other cycles.
func (g *Graph) keyedCycle(way []dag.ID) string {
	var read []string // resources and module calls that are read only by instance
	kinds := map[string]bool{}
	add := func(kind string, name fmt.Stringer) {
		if !slices.Contains(read, name.String()) {
			read, kinds[kind] = append(read, name.String()), true
		}
	}
	through, others := "", 0 // through: local value that refers to an object in read; others: number of other nodes
	for i, id := range way {
		n, next := g.Nodes[id], g.Nodes[way[(i+1)%len(way)]]
		v := n.Value()
		of := next.Resource
		switch {
		case v != nil && v.ReadsCall(next.Module):
			add("module call", next.Module.Path)
		case of != nil && (v != nil && v.ReadsResource(of) || n.Resource != nil && n.Resource.ReadsResource(of)):
			add("block", of.Addr)
		case of != nil && n.Resource != nil && of.Config != nil && of.Exprs.Repetition.Repeats():
			return "" // all instances are read
		default:
			continue
		}
		if v != nil && v.Kind == reads.Local {
			through = n.Name
		}
	}
	for _, id := range way {
		n := g.Nodes[id]
		inside := len(read) > 0 && (n.Name == read[0] || strings.HasPrefix(n.Name, read[0]+"."))
		if !inside && n.Name != through && !(n.Kind.IsBarrier() && n.Range == nil) {
			others++
		}
	}
	slices.Sort(read)
	switch {
	case len(read) > 1:
		kind := "block"
		if !kinds[kind] {
			kind = "module call"
		}
		return fmt.Sprintf("Instances of different %ss can't refer to each other in both directions. Those of one %[1]s "+
			"can, as in node[each.value.parent]: merge %s into one %[1]s.", kind, strings.Join(read, " and "))
	case len(read) == 1 && through != "" && others == 0:
		return fmt.Sprintf("Instances of %s can refer to each other, but not through %s: write the reference where the "+
			"value is used.", read[0], through)
	}
	return ""
}

func declaredAt(n *reads.Node) string {
	if n.Range == nil {
		return ""
	}
	return " (" + tfdiags.Place(*n.Range) + ")"
}
