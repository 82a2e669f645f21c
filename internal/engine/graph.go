package engine

import (
	"context"
	"strings"

	"tofu/internal/addrs"
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

// Drawing is a graph for people: it leaves out edges that a longer path implies, and labels what people know from their configuration.
type Drawing struct {
	Nodes []DrawnNode
	Edges [][2]int // from, to: positions in Nodes; from waits for to
}

// DrawnNode is a node of a drawing. Label and Shape are empty for inner nodes.
type DrawnNode struct{ Name, Label, Shape string }

// Graph builds a graph without walking it. plan is needed for GraphApply only and may be nil.
func Graph(ctx context.Context, cfg *configs.Config, prior *states.State, env *Env, kind GraphKind, plan *plans.Plan) (*Drawing, tfdiags.Diagnostics) {
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
		op.phase = phasePlanDestroy
	default:
		op = (&PlanOptions{}).operation(cfg, prior, env)
	}
	b := newBuild(ctx, op)
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
	out := b.draw()
	out.goneOutputs(cfg, prior)
	return out, diags
}

// goneOutputs adds the outputs that only the state still has. No walk has nodes for them.
func (d *Drawing) goneOutputs(cfg *configs.Config, prior *states.State) {
	for _, name := range prior.OutputNames() {
		if cfg.Module.Outputs[name] == nil {
			gone := "output." + name + " (destroy)"
			d.Nodes = append(d.Nodes, DrawnNode{Name: gone, Label: gone, Shape: drawnShapes[KindValue]})
		}
	}
}

// drawDestruction turns the graph of planning a destruction, which has no order, into one of the order in which it would be done.
func (b *build) drawDestruction() {
	for _, r := range b.resources {
		b.graph.Disconnect(r.node.ID)
		if len(r.prior) > 0 {
			b.after(r.node, r.provider.node)
		}
	}
	for _, r := range b.resources {
		for _, dep := range r.storedDeps() {
			if other := b.byConfig[dep]; other != nil {
				b.after(other.node, r.node)
			}
		}
	}
}

// dropIdle takes out resources of which nothing is done, unless a value that is evaluated needs them, and providers without users. A
// walk visits these resources to build their values; people who ask what would happen aren't helped by them.
func (b *build) dropIdle() {
	changed := make(map[*resource]bool)
	for _, n := range b.nodes {
		if n.Kind == KindStep {
			changed[n.resource] = true
		}
	}
	var busy []dag.ID
	for id, n := range b.nodes {
		switch {
		case n.Kind == KindStep, n.Kind == KindResource && (changed[n.resource] || b.phase.fromState && len(n.resource.prior) > 0),
			n.Kind == KindResource && n.resource.nested() && b.phase.conditions:
			busy = append(busy, dag.ID(id))
		case n.Kind == KindValue && n.final && !b.phase.destroy:
			for _, need := range b.graph.Needs(dag.ID(id)) {
				if b.nodes[need].Kind == KindValue {
					busy = append(busy, need)
				}
			}
		}
	}
	keep := b.graph.Reach(busy...)
	for id, n := range b.nodes {
		if n.Kind != KindResource && n.Kind != KindProvider {
			keep[id] = true
		}
	}
	b.drop(keep)
}

var drawnShapes = map[Kind]string{KindResource: "box", KindStep: "box", KindProvider: "diamond", KindValue: "note"}

func (b *build) draw() *Drawing {
	reduced := b.graph.TransitiveReduction()
	used := make([]bool, b.graph.Len())
	for id := range dag.ID(b.graph.Len()) {
		for _, to := range reduced.Needs(id) {
			used[id], used[to] = true, true
		}
	}
	at := make([]int, b.graph.Len())
	out := &Drawing{}
	for id, n := range b.nodes {
		at[id] = -1
		dead := n.Run == nil && n.Kind != KindBarrier
		if dead && !n.rootVariable() || n.Kind == KindBarrier && !used[id] {
			continue
		}
		at[id] = len(out.Nodes)
		drawn := b.drawn(n)
		if n.rootVariable() && len(reduced.Needs(dag.ID(id))) > 0 {
			// What its rules refer to, the one who gives a variable its value need not know: only its users wait for that.
			out.Nodes = append(out.Nodes, DrawnNode{Name: n.Name + " (validation)"})
			out.Edges = append(out.Edges, [2]int{at[id], len(out.Nodes)})
		}
		out.Nodes = append(out.Nodes, drawn)
	}
	for id := range dag.ID(b.graph.Len()) {
		for _, to := range reduced.Needs(id) {
			if at[id] >= 0 && at[to] >= 0 {
				out.Edges = append(out.Edges, [2]int{at[id], at[to]})
			}
		}
	}
	return out
}

// rootVariable tells whether the node is an input variable of the root module, which is drawn even when nobody reads it.
func (n *Node) rootVariable() bool {
	name, isVariable := strings.CutPrefix(n.Name, "var.")
	return isVariable && n.Kind == KindValue && n.module != nil && n.module.parent == nil && n.module.variables[name] != nil
}

func (b *build) drawn(n *Node) DrawnNode {
	out := DrawnNode{Name: n.Name}
	switch {
	case n.Kind == KindValue && !n.rootVariable(), n.Kind == KindModule, n.Kind == KindBarrier:
		return out
	case n.Kind == KindStep && n.resource.cfg == nil, n.Kind == KindResource:
		if r := n.resource; b.phase.destroy && r.addr.Resource.Mode != addrs.Managed && len(r.prior) == 0 {
			return out
		}
		out.Label = n.resource.addr.String()
	case n.Kind == KindStep:
		out.Label = n.resource.addr.String()
	default:
		out.Label = n.Name
	}
	out.Shape = drawnShapes[n.Kind]
	return out
}
