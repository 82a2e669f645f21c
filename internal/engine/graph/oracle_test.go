package graph

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
)

// CompareOrders orders the Steps of a plan twice: with Barriers, using the nearest dependencies,
// and pair by pair, using the transitive closure of the dependencies. It returns an error if the
// two orders differ. It compares nothing if some dependencies contradict each other and had to be
// dropped.
func CompareOrders(ctx context.Context, op *Operation) error {
	barriers := newBuild(op)
	if err := barriers.run(ctx, transformers); err != nil {
		return fmt.Errorf("with barriers: %w", err)
	}
	if barriers.g.Relaxed {
		return nil
	}
	plain := newBuild(op)
	passes := slices.Clone(transformers)
	passes[slices.Index(passes, destroySplitTransformer)] = &Transformer{Name: "Pairwise", Run: connectPairwise}
	if err := plain.run(ctx, passes); err != nil {
		return fmt.Errorf("pair by pair: %w", err)
	}
	got, want := barriers.stepOrder(), plain.stepOrder()
	for name := range want {
		if got[name] != want[name] {
			return fmt.Errorf("%s comes after\n%s\npair by pair:\n%s", name, got[name], want[name])
		}
	}
	return nil
}

// CheckReads orders the Steps of a plan twice: by the instances that the plan says they read, and
// by whole resources. In the order by instance, every Step must come after the instances that it
// reads. The order by resource must include everything in the order by instance.
func CheckReads(ctx context.Context, op *Operation) error {
	byInstance := newBuild(op)
	if err := byInstance.run(ctx, transformers); err != nil {
		return err
	}
	whole := *op
	plan, changes := *op.Plan, *op.Plan.Changes
	whole.Plan, plan.Changes, changes.Instances = &plan, &changes, nil
	for _, c := range op.Plan.Changes.Instances {
		without := *c
		without.Reads = slices.DeleteFunc(slices.Clone(c.Reads), func(read plans.InstanceRead) bool {
			return read.Resource != c.Addr.Resource // a resource does not order its own instances
		})
		changes.Instances = append(changes.Instances, &without)
	}
	byResource := newBuild(&whole)
	if err := byResource.run(ctx, transformers); err != nil {
		return fmt.Errorf("by resource: %w", err)
	}
	if byInstance.g.Relaxed || byResource.g.Relaxed {
		return nil
	}
	got, all := byInstance.stepsBefore(), byResource.stepsBefore()
	for name, before := range got {
		for other := range before {
			if !all[name][other] {
				return fmt.Errorf("%s comes after %s, but not if they are ordered by resource", name, other)
			}
		}
	}
	return byInstance.checkReads(got)
}

// checkReads checks that the Steps come after the instances that they read.
func (b *build) checkReads(before map[string]map[string]bool) error {
	for r, steps := range b.steps {
		for _, s := range steps {
			if s.Part != reads.StepApply {
				continue
			}
			for _, read := range s.Change.Reads {
				of := r.Module.Resources[read.Resource]
				addr := read.Resource.InInstance(s.Change.Addr.Module).Instance(read.Key)
				for _, t := range b.steps[of] {
					if t.Part == reads.StepApply && t.Change.Addr == addr && !before[s.Node.Name][t.Node.Name] {
						return fmt.Errorf("%s reads %s, but doesn't come after it", s.Node.Name, t.Node.Name)
					}
				}
			}
		}
	}
	return nil
}

// stepOrder returns, by the name of each Step, the names of the Steps that come before it, sorted
// and separated by newlines.
func (b *build) stepOrder() map[string]string {
	out := map[string]string{}
	for name, before := range b.stepsBefore() {
		out[name] = strings.Join(slices.Sorted(maps.Keys(before)), "\n")
	}
	return out
}

// stepsBefore returns, by the name of each Step, the set of the names of the Steps that come before
// it.
func (b *build) stepsBefore() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, n := range b.g.Nodes {
		if n.Kind != reads.KindStep {
			continue
		}
		before := map[string]bool{}
		for id, reached := range b.g.Edges.Reach(n.ID) {
			if other := b.g.Nodes[id]; reached && other.Kind == reads.KindStep && other != n {
				before[other.Name] = true
			}
		}
		out[n.Name] = before
	}
	return out
}

// connectPairwise connects Steps in the order that transform_destroy.go describes, without
// Barriers.
func connectPairwise(_ context.Context, b *build) error {
	if !b.op.Phase.Applies() || !b.deletesAnything() {
		return nil
	}
	d := newDestroyOrder(b)
	for _, x := range d.all {
		needs := closed(x, func(y *depNode) []*depNode { return y.needs })
		users := closed(x, func(y *depNode) []*depNode { return y.users })
		for _, s := range x.steps {
			d.connectAllPairs(s, x, needs, users)
		}
	}
	return nil
}

// closed returns all nodes that can be reached from x by following next, without x itself.
func closed(x *depNode, next func(*depNode) []*depNode) []*depNode {
	all := slices.Collect(dag.Reachable([]*depNode{x}, next))
	return all[1:]
}

// connectAllPairs connects a Step of x with the Steps that it must come after. needs and users are
// all direct and indirect dependencies and dependents of x.
func (d *destroyOrder) connectAllPairs(s *reads.Step, x *depNode, needs, users []*depNode) {
	after := func(of []*depNode, which func(*reads.Step) bool) {
		for _, y := range of {
			for _, t := range y.steps {
				if which(t) {
					d.b.after(s.Node, t.Node)
				}
			}
		}
	}
	var own, create *reads.Step
	for _, t := range x.steps {
		if t.Change.Addr == s.Change.Addr && t != s {
			switch {
			case t.Part == reads.StepApply:
				create = t
			case t.Part == reads.StepForget || t.Part == reads.StepDelete && !d.lateDeletions[t]:
				own = t
			}
		}
	}
	switch {
	case s.Writes():
		after(needs, d.ordinary)
		after(users, d.ordinary)
		if own != nil {
			d.b.after(s.Node, own.Node)
		}
	case !s.Deletes():
	case d.lateDeletions[s]:
		after(users, (*reads.Step).Deletes)
		after(users, (*reads.Step).Writes)
		after(needs, (*reads.Step).Writes)
		for _, y := range d.all {
			if d.begins(y, x) {
				after(append(closed(y, func(z *depNode) []*depNode { return z.users }), y), (*reads.Step).Writes)
			}
		}
		if create != nil {
			d.b.after(s.Node, create.Node)
		}
	default:
		after(users, (*reads.Step).Deletes)
	}
}

// begins reports whether y starts to depend on x: its configuration depends on x, but its stored
// dependencies do not contain x.
func (d *destroyOrder) begins(y, x *depNode) bool {
	if y.hub || !y.exists || y.resource.Config == nil || y == x || !y.writes() ||
		!y.resource.Recorded.Dependencies.Has(x.resource.Addr) ||
		x.addr.Module != y.addr.Module && x.resource.Addr.Module == y.resource.Addr.Module {
		return false
	}
	sets, guess := d.storedDeps(y)
	return !stored(append(sets, guess), x.resource.Addr)
}
