package engine

import (
	"context"
	"fmt"
	"slices"

	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// ApplyTooEarly applies a plan with a graph that is wrong: the node early doesn't wait for the node
// late; if reversed, late waits for early instead.
func ApplyTooEarly(
	ctx context.Context, cfg *configs.Config, plan *plans.Plan, env *Env, early, late string, reversed bool,
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
	if reversed {
		edges.Connect(second, first)
	}
	w.out.changes = plan.Changes
	return w.out.state, w.run(ctx)
}

// PlanTooEarly is Plan with a graph that is wrong: the instances of a resource wait for no single
// instances of others.
func PlanTooEarly(
	ctx context.Context, cfg *configs.Config, prevRun *states.State, env *Env, reader string,
) (*plans.Plan, error) {
	w, err := newPlan(ctx, cfg, prevRun, env, func(*operation) {})
	if err != nil {
		return nil, err
	}
	for _, r := range w.graph.Resources {
		if r.Addr.String() == reader {
			r.Awaited = nil
		}
	}
	return w.plan(ctx, &PlanOptions{})
}

// PlanByBlocks is Plan with a graph in which resources wait for whole resources.
func PlanByBlocks(ctx context.Context, cfg *configs.Config, prevRun *states.State, env *Env) (*plans.Plan, error) {
	w, err := newPlan(ctx, cfg, prevRun, env, func(op *operation) { op.ByInstance = false })
	if err != nil {
		return nil, err
	}
	return w.plan(ctx, &PlanOptions{})
}

// newPlan returns the walk of a plan without options.
func newPlan(
	ctx context.Context, cfg *configs.Config, prevRun *states.State, env *Env, change func(*operation),
) (*walk, error) {
	own := *env
	if own.Warn == nil {
		own.Warn = tfdiags.Drop
	}
	op, err := (&PlanOptions{}).normalOperation(cfg, prevRun, &own)
	if err != nil {
		return nil, err
	}
	change(op)
	return newWalk(ctx, op, op.Prior)
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
