package engine

import (
	"context"
	"slices"

	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// GraphKind is which graph to draw.
type GraphKind uint8

const (
	GraphPlan        GraphKind = iota // what planning walks
	GraphPlanDestroy                  // the order in which everything would be destroyed
	GraphApply                        // what applying a plan walks; without a plan, nothing changes
)

// Graph builds a graph without walking it. plan is needed for GraphApply only and may be nil.
func Graph(ctx context.Context, cfg *configs.Config, prior *states.State, env *Env, kind GraphKind, plan *plans.Plan) (*Drawing, tfdiags.Diagnostics) {
	b, diags := buildGraph(ctx, cfg, prior, env, kind, plan)
	if diags.HasErrors() {
		return nil, diags
	}
	return b.draw(), diags
}

func buildGraph(ctx context.Context, cfg *configs.Config, prior *states.State, env *Env, kind GraphKind, plan *plans.Plan) (*build, tfdiags.Diagnostics) {
	if prior == nil {
		prior = states.New()
	}
	var op *operation
	switch {
	case kind == GraphApply:
		if plan == nil {
			plan = &plans.Plan{Changes: &plans.Changes{}, Prior: prior}
		}
		op = applyOperation(cfg, plan, env, nil)
	case kind == GraphPlanDestroy:
		op = (&PlanOptions{Mode: plans.Destroy}).operation(cfg, prior, env)
		op.phase = PhasePlanDestroy
	default:
		op = (&PlanOptions{}).operation(cfg, prior, env)
	}
	b := newBuild(ctx, &op.graphOp)
	diags := b.transform()
	if diags.HasErrors() {
		return nil, diags
	}
	if kind == GraphPlanDestroy {
		b.drawDestruction()
	}
	if kind != GraphPlan {
		b.dropIdle()
	}
	return b, diags
}

// drawDestruction turns the graph of planning a destruction, which has no order, into one of the order in which it would be done.
func (b *build) drawDestruction() {
	for _, r := range b.g.resources {
		b.g.edges.Disconnect(r.node.ID)
		if len(r.prior) > 0 {
			b.after(r.node, r.provider.node)
		}
	}
	for _, r := range b.g.resources {
		for _, dep := range r.storedDeps() {
			if other := b.g.byConfig[dep]; other != nil {
				b.after(other.node, r.node)
			}
		}
	}
}

// dropIdle takes out resources of which nothing is done, unless a value that is evaluated needs them, and providers without users. A
// walk visits these resources to build their values; people who ask what would happen aren't helped by them.
func (b *build) dropIdle() {
	changed := make(map[*resource]bool)
	for r, steps := range b.steps {
		changed[r] = slices.ContainsFunc(steps, func(s *step) bool { return s.part == stepApply })
	}
	var busy []dag.ID
	for id, n := range b.g.nodes {
		switch {
		case n.Kind == KindStep, n.Kind.isResource() && (changed[n.Resource] || b.op.phase == PhasePlanDestroy && len(n.Resource.prior) > 0),
			n.Kind.isResource() && n.Resource.nested() && b.op.phase.Checks():
			busy = append(busy, dag.ID(id))
		case n.Kind.isValue() && n.kept && !b.op.phase.Destroys():
			for _, need := range b.g.edges.Needs(dag.ID(id)) {
				if !b.g.nodes[need].Kind.isResource() {
					busy = append(busy, need)
				}
			}
		}
	}
	keep := b.g.edges.Reach(busy...)
	for id, n := range b.g.nodes {
		if !n.Kind.isResource() && n.Kind != KindProvider {
			keep[id] = true
		}
	}
	b.drop(keep)
}
