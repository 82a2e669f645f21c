package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tofu/internal/configs"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Transformers are the passes in their order.
func Transformers() []*Transformer { return transformers }

// CompareOrders orders a plan's steps twice: by barriers over the nearest dependencies, and plainly, pair by pair over closed lists of
// dependencies. Both must order the same steps. relaxed tells that the order was contradictory, so that there is nothing to compare.
func CompareOrders(cfg *configs.Config, plan *plans.Plan, env *Env) (relaxed bool, err error) {
	barriers := newBuild(context.Background(), &applyOperation(cfg, plan, env, nil).graphOp)
	if diags := barriers.transform(); diags.HasErrors() {
		return false, fmt.Errorf("with barriers: %w", diags.Err())
	}
	if barriers.relaxed {
		return true, nil
	}
	plain := newBuild(context.Background(), &applyOperation(cfg, plan, env, nil).graphOp)
	passes := slices.Clone(transformers)
	passes[slices.Index(passes, destroySplitTransformer)] = &Transformer{Name: "Pairwise", Run: connectPairwise}
	if diags := plain.runPasses(passes); diags.HasErrors() {
		return false, fmt.Errorf("pair by pair: %w", diags.Err())
	}
	got, want := barriers.stepOrder(), plain.stepOrder()
	for name := range want {
		if got[name] != want[name] {
			return false, fmt.Errorf("%s comes after\n%s\npair by pair:\n%s", name, got[name], want[name])
		}
	}
	return false, nil
}

// GraphText builds a graph and writes it as text: every node that does something or orders others, by its own name, with those that it
// waits for below it. Edges that others imply are left out, and so is the root, which waits for everything.
func GraphText(ctx context.Context, cfg *configs.Config, prior *states.State, env *Env, kind GraphKind, plan *plans.Plan) (string, tfdiags.Diagnostics) {
	b, diags := buildGraph(ctx, cfg, prior, env, kind, plan)
	if diags.HasErrors() {
		return "", diags
	}
	reduced := b.g.edges.TransitiveReduction()
	used := make([]bool, len(b.g.nodes))
	shown := func(n *Node) bool {
		return !n.Dropped && n.Kind != KindBarrier || n.Kind == KindBarrier && used[n.ID] && n.Name != rootName
	}
	for _, n := range b.g.nodes {
		for _, to := range reduced.Needs(n.ID) {
			used[n.ID], used[to] = true, true
		}
	}
	var out []string
	for _, n := range b.g.nodes {
		if !shown(n) {
			continue
		}
		var needs []string
		for _, to := range reduced.Needs(n.ID) {
			if shown(b.g.nodes[to]) {
				needs = append(needs, "  "+b.g.nodes[to].Name+"\n")
			}
		}
		slices.Sort(needs)
		out = append(out, n.Name+"\n"+strings.Join(slices.Compact(needs), ""))
	}
	slices.Sort(out)
	return strings.Join(out, ""), diags
}

// stepOrder lists, for every step, the steps that come before it.
func (b *build) stepOrder() map[string]string {
	out := map[string]string{}
	for _, n := range b.g.nodes {
		if n.Kind != KindStep {
			continue
		}
		var before []string
		for id, reached := range b.g.edges.Reach(n.ID) {
			if other := b.g.nodes[id]; reached && other.Kind == KindStep && other != n {
				before = append(before, other.Name)
			}
		}
		slices.Sort(before)
		out[n.Name] = strings.Join(before, "\n")
	}
	return out
}

// connectPairwise is the order as transform_destroy.go words it, without barriers.
func connectPairwise(b *build) tfdiags.Diagnostics {
	if !b.op.phase.Applies() || !b.deletesAnything() {
		return nil
	}
	d := newDestroyOrder(b)
	for _, x := range d.all {
		needs := closed(x, func(y *related) []*related { return y.needs })
		users := closed(x, func(y *related) []*related { return y.users })
		for _, s := range x.steps {
			d.connectPlainly(s, x, needs, users)
		}
	}
	return nil
}

func closed(x *related, next func(*related) []*related) []*related {
	var out []*related
	seen := map[*related]bool{x: true}
	todo := []*related{x}
	for len(todo) > 0 {
		y := todo[0]
		todo = todo[1:]
		for _, z := range next(y) {
			if !seen[z] {
				seen[z] = true
				out, todo = append(out, z), append(todo, z)
			}
		}
	}
	return out
}

func (d *destroyOrder) connectPlainly(s *step, x *related, needs, users []*related) {
	after := func(of []*related, which func(*step) bool) {
		for _, y := range of {
			for _, t := range y.steps {
				if which(t) {
					d.b.after(s.node, t.node)
				}
			}
		}
	}
	var own, create *step
	for _, t := range x.steps {
		if t.change.Addr == s.change.Addr && t != s {
			switch {
			case t.part == stepApply:
				create = t
			case t.part == stepForget || t.part == stepDelete && !d.lateSteps[t]:
				own = t
			}
		}
	}
	switch {
	case s.makes():
		after(needs, d.ordinary)
		after(users, d.ordinary)
		if own != nil {
			d.b.after(s.node, own.node)
		}
	case !s.deletes():
	case d.lateSteps[s]:
		after(users, (*step).deletes)
		after(users, (*step).makes)
		after(needs, (*step).makes)
		for _, y := range d.all {
			if d.begins(y, x) {
				after(append(closed(y, func(z *related) []*related { return z.users }), y), (*step).makes)
			}
		}
		if create != nil {
			d.b.after(s.node, create.node)
		}
	default:
		after(users, (*step).deletes)
	}
}

// begins tells whether what is stored of y doesn't speak of x, and its configuration does.
func (d *destroyOrder) begins(y, x *related) bool {
	if y.hub || !y.old || y.resource.cfg == nil || y == x || !y.makes() || !y.resource.refersTo(x.resource.addr) ||
		x.addr.Module != y.addr.Module && x.resource.addr.Module == y.resource.addr.Module {
		return false
	}
	stored, guess := d.stored(y)
	return !listed(append(stored, guess), x.resource.addr)
}

// BuildGraphs builds the graphs of planning a configuration from nothing and of applying a plan.
func BuildGraphs(cfg *configs.Config, plan *plans.Plan, env *Env) tfdiags.Diagnostics {
	ctx := context.Background()
	diags := newBuild(ctx, &(&PlanOptions{}).operation(cfg, plan.PrevRun, env).graphOp).transform()
	return diags.Append(newBuild(ctx, &applyOperation(cfg, plan, env, nil).graphOp).transform())
}
