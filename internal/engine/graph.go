package engine

import (
	"tofu/internal/configs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/phase"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// GraphKind selects the graph to draw.
type GraphKind uint8

const (
	GraphPlan        GraphKind = iota // the graph that planning walks
	GraphPlanDestroy                  // the order in which everything would be destroyed
	GraphApply                        // the graph that applying a plan walks
)

// GraphOperation returns the operation that walks the given kind of graph. plan is used only for
// GraphApply; nil means a plan without changes.
func GraphOperation(
	cfg *configs.Config, prior *states.State, env *Env, kind GraphKind, plan *plans.Plan,
) *graph.Operation {
	if prior == nil {
		prior = states.New()
	}
	switch kind {
	case GraphApply:
		if plan == nil {
			plan = &plans.Plan{Changes: &plans.Changes{}, Prior: prior}
		}
		return &applyOperation(cfg, plan, env, nil).Operation
	case GraphPlanDestroy:
		op := (&PlanOptions{Mode: plans.Destroy}).operation(cfg, prior, env)
		op.Phase = phase.PlanDestroy
		return &op.Operation
	}
	return &(&PlanOptions{}).operation(cfg, prior, env).Operation
}
