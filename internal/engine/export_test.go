package engine

import (
	"context"
	"fmt"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Order is a pair of node names: Node waits for For.
type Order struct{ Node, For string }

// ApplyTooEarly applies a plan with a wrong graph: the edges listed in the parameter without are
// removed from it, and those listed in the parameter with are added.
func ApplyTooEarly(
	ctx context.Context, cfg *configs.Config, plan *plans.Plan, env *Env, without, with []Order,
) (*states.State, error) {
	w, err := newWalk(ctx, applyOperation(cfg, plan, env, nil), plan.Prior)
	if err != nil {
		return nil, err
	}
	ids := map[string]dag.ID{}
	for _, n := range w.graph.Nodes {
		ids[n.Name] = n.ID
	}
	for _, o := range append(without, with...) {
		for _, name := range []string{o.Node, o.For} {
			if _, exists := ids[name]; !exists {
				return nil, fmt.Errorf("the graph has no node %s", name)
			}
		}
	}
	edges := &w.graph.Edges
	for _, o := range without {
		edges.Remove(ids[o.Node], func(to dag.ID) bool { return to == ids[o.For] })
	}
	for _, o := range with {
		edges.Connect(ids[o.Node], ids[o.For])
	}
	if !edges.Acyclic() {
		return nil, fmt.Errorf("the graph gets a cycle")
	}
	w.out.changes = plan.Changes
	return w.out.state, w.run(ctx)
}

// PlanTooEarly is Plan with a wrong graph: the instances of the resource reader don't wait for the
// instances of other resources that they read.
func PlanTooEarly(
	ctx context.Context, cfg *configs.Config, prevRun *states.State, env *Env, reader string,
) (*plans.Plan, error) {
	w, err := newPlan(ctx, cfg, prevRun, env, func(*operation) {})
	if err != nil {
		return nil, err
	}
	for _, r := range w.graph.Resources {
		if r.Addr.String() == reader {
			for i := range r.ByKey {
				r.ByKey[i].Whole = true
			}
		}
	}
	return w.plan(ctx, &PlanOptions{})
}

// PlanByBlocks is Plan with a graph in which a reference waits for all instances of the resource
// that it names.
func PlanByBlocks(ctx context.Context, cfg *configs.Config, prevRun *states.State, env *Env) (*plans.Plan, error) {
	w, err := newPlan(ctx, cfg, prevRun, env, func(op *operation) { op.ByInstance = false })
	if err != nil {
		return nil, err
	}
	return w.plan(ctx, &PlanOptions{})
}

// newPlan returns the walk of a plan with default options. change may modify the operation before
// the graph is built.
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

// ApplyByBlocks is Apply with a graph in which every reference waits for all instances of the block
// that it names. If such a graph has a cycle, ApplyByBlocks is Apply.
func ApplyByBlocks(ctx context.Context, cfg *configs.Config, plan *plans.Plan, env *Env) (*states.State, error) {
	// Deletions by block can contradict the order in which new objects are created after deletions of
	// single instances. Then deletions keep their order by instance.
	for _, prevRun := range []*states.State{plan.PrevRun, states.New()} {
		w, err := newWalk(ctx, applyOperation(cfg, plan, env, nil), plan.Prior)
		if err != nil {
			return plan.Prior, err
		}
		byBlocks := &blockOrder{w.graph, map[*reads.Resource][]*reads.Node{}}
		if byBlocks.connect(prevRun) {
			return w.apply(ctx, plan, &ApplyOptions{})
		}
	}
	return Apply(ctx, cfg, plan, env, nil)
}

// blockOrder changes the graph of an apply to the order that other engines use. Every node waits
// for all instances of the blocks that it refers to. Deletions wait for the deletions of all
// dependents in the state that the plan was created from. References of a resource or module call
// to its own instances keep their edges.
type blockOrder struct {
	*graph.Graph
	writers map[*reads.Resource][]*reads.Node // nodes of Steps that create, update or read objects, by resource
}

// connect adds the edges, and reports whether the graph has no cycles.
func (o *blockOrder) connect(prevRun *states.State) bool {
	deletions := map[*reads.Resource][]*reads.Node{}
	users := map[addrs.ConfigResource][]*reads.Resource{}
	for _, n := range o.Nodes {
		switch {
		case deletes(n):
			deletions[n.Resource] = append(deletions[n.Resource], n)
		case n.Kind == reads.KindStep:
			o.writers[n.Resource] = append(o.writers[n.Resource], n)
		}
	}
	chained := map[addrs.Module]bool{} // modules whose instances depend on one another
	for prior := range prevRun.Resources() {
		for _, inst := range prior.Instances {
			for o := range inst.Objects() {
				for _, dep := range o.DependencyInstances {
					if dep.Module != prior.Addr.Module && dep.Module.Module() == prior.Addr.Module.Module() {
						chained[dep.Module.Module()] = true
					}
				}
			}
			if inst.Current == nil {
				continue
			}
			for dep := range inst.Current.Dependencies.All() {
				if r := o.Resource(prior.Addr.Config()); r != nil && !slices.Contains(users[dep], r) {
					users[dep] = append(users[dep], r)
				}
			}
		}
	}
	for _, n := range slices.Clone(o.Nodes) {
		switch {
		case deletes(n):
			for _, user := range users[n.Resource.Addr] {
				within := user.Addr.Module == n.Resource.Addr.Module && chained[user.Addr.Module]
				for _, other := range deletions[user] {
					if !within || moduleOf(n) == moduleOf(other) {
						o.await(n, other)
					}
				}
			}
		case n.Kind == reads.KindStep && n.Resource.Config != nil:
			for refs := range n.Resource.Exprs.References() {
				o.awaitAll(n, n.Resource.Module, refs, map[*reads.Value]bool{})
			}
		}
	}
	return o.Edges.Acyclic()
}

// moduleOf returns the module instance that contains the object of a Step.
func moduleOf(n *reads.Node) addrs.ModuleInstance { return n.Object.(*reads.Step).Change.Addr.Module }

func deletes(n *reads.Node) bool {
	s, ok := n.Object.(*reads.Step)
	return ok && s.Removes()
}

// awaitAll makes n wait for everything that the references name, directly or through values. m is the
// module that contains the references.
func (o *blockOrder) awaitAll(n *reads.Node, m *reads.Module, refs *lang.Refs, seen map[*reads.Value]bool) {
	follow := func(v *reads.Value) {
		if v == nil || v.Expr == nil || seen[v] {
			return
		}
		seen[v] = true
		in := v.Module
		if v.Kind == reads.Variable {
			in = in.Parent
		}
		o.awaitAll(n, in, &v.Expr.Refs, seen)
	}
	for _, ref := range refs.Objects {
		if of := m.ResourceOf(ref.Subject); of != nil {
			if of.Module.ReadsSiblings() { // the instances of a module call depend on one another
				continue
			}
			for _, s := range o.writers[of] {
				o.await(n, s)
			}
		}
		switch s := ref.Subject.(type) {
		case addrs.InputVariable:
			follow(m.Variables[s.Name])
		case addrs.LocalValue:
			follow(m.Locals[s.Name])
		}
		if call, _, ok := lang.ModuleSubject(ref.Subject); ok && m.Calls[call.Name] != nil {
			for _, v := range m.Calls[call.Name].Outputs {
				follow(v)
			}
		}
	}
}

// await makes n wait for other, unless both belong to the same resource.
func (o *blockOrder) await(n, other *reads.Node) {
	if n != other && o.Apart(other) == nil && (n.Resource == nil || n.Resource != other.Resource) {
		o.Edges.Connect(n.ID, other.ID)
	}
}

// SameJSON reports whether two JSON documents are equal, of which a is compact.
func SameJSON(a, b []byte) bool { return sameJSON(a, b) }
