package graph

import (
	"context"
	"slices"
	"strings"

	"tofu/internal/engine/reads"
)

// Transformers returns all transformers in the order in which they run.
func Transformers() []*Transformer { return transformers }

// Text returns an operation's graph as text: each node that does work or orders others, followed by
// the nodes that it waits for. It leaves out edges that longer paths imply, and the root, which
// waits for everything.
func Text(ctx context.Context, op *Operation) (string, error) {
	b, err := newBuild(op), error(nil)
	if op.Phase.Applies() {
		err = b.run(ctx, transformers)
	} else {
		b, err = buildDrawing(ctx, op)
	}
	if err != nil {
		return "", err
	}
	reduced := b.g.Edges.TransitiveReduction()
	used := make([]bool, len(b.g.Nodes))
	shown := func(n *reads.Node) bool {
		return !n.Dropped && n.Kind != reads.KindBarrier || n.Kind == reads.KindBarrier && used[n.ID] && n.Name != rootName
	}
	for _, n := range b.g.Nodes {
		for _, to := range reduced.Needs(n.ID) {
			used[n.ID], used[to] = true, true
		}
	}
	var out []string
	for _, n := range b.g.Nodes {
		if !shown(n) {
			continue
		}
		var needs []string
		for _, to := range reduced.Needs(n.ID) {
			if shown(b.g.Nodes[to]) {
				needs = append(needs, "  "+b.g.Nodes[to].Name+"\n")
			}
		}
		slices.Sort(needs)
		out = append(out, n.Name+"\n"+strings.Join(slices.Compact(needs), ""))
	}
	slices.Sort(out)
	return strings.Join(out, ""), nil
}
