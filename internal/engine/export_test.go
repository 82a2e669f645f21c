package engine

import (
	"context"
	"fmt"
	"slices"

	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// ApplyTooEarly applies a plan with a graph that is wrong: the node early doesn't wait for the node
// late, but the other way around.
func ApplyTooEarly(
	ctx context.Context, cfg *configs.Config, plan *plans.Plan, env *Env, early, late string,
) (*states.State, error) {
	w, err := newWalk(ctx, applyOperation(cfg, plan, env, nil), plan.Prior)
	if err != nil {
		return nil, err
	}
	ids := map[string]dag.ID{}
	for _, n := range w.graph.Nodes {
		ids[n.Name] = n.ID
	}
	edges, first, second := &w.graph.Edges, ids[early], ids[late]
	if w.graph.Nodes[first].Name != early || w.graph.Nodes[second].Name != late {
		return nil, fmt.Errorf("the graph has no nodes %s and %s", early, late)
	}
	needs := slices.Clone(edges.Needs(first))
	edges.Disconnect(first)
	for _, id := range needs {
		if id != second {
			edges.Connect(first, id)
		}
	}
	edges.Connect(second, first)
	w.out.changes = plan.Changes
	return w.out.state, w.run(ctx)
}

// ApplyByBlocks is Apply with a graph in which every reference waits for all instances of what it
// names.
func ApplyByBlocks(ctx context.Context, cfg *configs.Config, plan *plans.Plan, env *Env) (*states.State, error) {
	w, err := newWalk(ctx, applyOperation(cfg, plan, env, nil), plan.Prior)
	if err != nil {
		return plan.Prior, err
	}
	if !w.graph.AwaitBlocks(plan.PrevRun) {
		return plan.Prior, fmt.Errorf("the graph has a cycle by blocks")
	}
	return w.apply(ctx, plan, &ApplyOptions{})
}
