package engine

import (
	"context"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// Unchanged knows which resource blocks an operation may leave out, because an earlier one has had the
// same inputs, and has found nothing to do and nothing to warn of.
type Unchanged interface {
	// Find returns what is known of a graph. stored is nil while validating. Blocks for which free returns
	// false are not known, and neither are those that refer to them.
	Find(g *graph.Graph, stored *states.State, free func(*reads.Resource) bool) Known
	// Record is called when the operation on the last graph has succeeded. same reports whether a block
	// was valid, or whether its plan changes nothing, not even in the state. With PlanOptions.LeaveOut, the
	// plan may also create or update objects.
	Record(same func(*reads.Resource) bool)
	// Change returns what the earlier operation has planned for an instance of a known block. It is nil
	// if the plan should not list the instance.
	Change(addrs.AbsInstance) *plans.InstanceChange
}

// Known says which parts of a graph are known from an earlier operation.
type Known struct {
	Blocks    []bool                   // by Resource.Index, the blocks that have the same result
	Providers map[*reads.Provider]bool // the provider configurations that are valid
}

// findUnchanged finds the blocks that the walk leaves out, and the providers that it doesn't start because
// of that.
func (w *walk) findUnchanged(stored *states.State) {
	if !w.op.comparesBlocks() {
		return
	}
	known := w.op.env.Unchanged.Find(w.graph, stored, w.op.readsNothingOf)
	if w.op.omits || w.op.Phase == phase.Validate {
		w.unchanged, w.idle = known.Blocks, known.Providers
		w.findIdle()
	}
}

// findIdle removes those that are needed from the providers that the walk doesn't start.
func (w *walk) findIdle() {
	for _, r := range w.graph.Resources {
		if !w.unchanged[r.Index] {
			delete(w.idle, r.Provider)
		}
	}
	for _, m := range w.graph.Modules {
		for _, a := range m.Actions {
			delete(w.idle, a.Provider)
		}
	}
	for p := range w.idle {
		if p.FunctionsOnly || w.graph.CallsFunctions(p) {
			delete(w.idle, p)
		}
	}
}

// readsNothingOf reports whether a plan uses the stored objects of a block without reading them. It returns
// true for a plan that reads everything: that leaves out blocks only with PlanOptions.LeaveOut.
func (o *operation) readsNothingOf(r *reads.Resource) bool {
	if o.skipRefresh || o.refresh == nil {
		return true
	}
	free := true
	for _, prior := range r.Prior {
		for key, inst := range prior.Instances {
			candidate := RefreshCandidate{Addr: prior.Addr.Instance(key), Provider: prior.Provider.Provider}
			if inst.Current != nil && o.refresh(candidate) { // asks about each object, as a plan of the block does
				free = false
			}
		}
	}
	return free
}

// comparesBlocks reports whether the result for each block depends on nothing but its inputs.
func (o *operation) comparesBlocks() bool {
	switch {
	case o.env.Unchanged == nil, o.inspection != nil:
		return false
	case o.Phase == phase.Validate:
		return true
	}
	return o.Phase == phase.Plan && o.Mode == plans.Normal && !o.PreDestroy && !o.Selective() && o.past == nil &&
		len(o.forceReplace)+len(o.forceWhole)+len(o.CommandImports) == 0 && !o.Generate && len(o.moves.All()) == 0 &&
		len(o.deferredResources)+len(o.deferredModules) == 0
}

// recordUnchanged records the blocks of a plan that has succeeded.
func (w *walk) recordUnchanged(plan *plans.Plan) {
	if !w.op.comparesBlocks() || plan.Defers() {
		return
	}
	changed := map[addrs.ConfigResource]bool{}
	for _, c := range plan.Changes.Instances {
		// With PlanOptions.LeaveOut, Unchanged.Change returns what these actions have planned.
		pending := w.op.remembers && (c.Action == plans.Create || c.Action == plans.Update) && c.Deposed == ""
		if c.Action != plans.NoOp && !pending || c.MovedFrom != nil || c.Importing != nil {
			changed[c.Addr.Config()] = true
		}
	}
	w.op.env.Unchanged.Record(func(r *reads.Resource) bool {
		for _, prior := range r.Prior {
			if plan.Prior.Resource(prior.Addr) != prior {
				return false
			}
		}
		return !changed[r.Addr]
	})
}

// leavesOut reports whether the walk leaves out a block. Without PlanOptions.LeaveOut, a plan that is saved
// leaves out nothing, because it lists every object, and neither does one that reads everything.
func (w *walk) leavesOut(r *reads.Resource) bool { return w.unchanged != nil && w.unchanged[r.Index] }

// keep completes a resource whose block the plan leaves out. Its instances keep their objects, or are
// planned as the earlier plan has planned them.
func (v resourceVisit) keep(ctx context.Context) error {
	p, deferred, err := v.begin(ctx)
	switch {
	case deferred != nil:
		return v.deferAll(ctx, deferred)
	case p == nil:
		return err
	case len(p.errs) > 0:
		return p.end(p.planAll())
	}
	for _, in := range p.planned {
		x := in.resources[v.r.Slot]
		x.kept = &keptObjects{}
		for i, key := range x.keys {
			addr := v.r.Addr.Resource.InInstance(in.addr).Instance(key)
			if change := v.w.op.env.Unchanged.Change(addr); change != nil {
				again := *change // the earlier plan stays as it is
				if v.w.addChange(v.r, &again); again.Action != plans.NoOp {
					x.objs[i] = again.After
				}
			} else {
				v.w.out.observe(Planned{&plans.InstanceChange{Addr: addr, Action: plans.NoOp}})
			}
			v.w.eval.unfinished.finish(addr, nil)
		}
		v.w.eval.unfinished.completed(v.r.Addr.Resource.InInstance(in.addr))
	}
	return nil
}

// keptObjects are the objects of a resource that a plan leaves out. They are decoded when an
// expression first reads them.
type keptObjects struct {
	once sync.Once
	err  error
}

// decodeKept sets the values of kept objects, on the first call.
func (rv resourceValues) decodeKept(in *moduleInstance, x *expansion) error {
	x.kept.once.Do(func() {
		x.kept.err = rv.fillFromState(in, x)
		x.value = rv.whole(x)
	})
	return x.kept.err
}
