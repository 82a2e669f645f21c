package engine

import (
	"context"

	"tofu/internal/engine/graph"
	"tofu/internal/tfdiags"
)

// executePart visits a Part: it does the work of another node for one instance of a module call.
func (w *walk) executePart(ctx context.Context, n *graph.Node) error {
	whole := n.Object.(*graph.Node)
	var errs tfdiags.Diagnostics
	switch whole.Kind {
	case graph.KindValue:
		v := whole.Object.(*graph.Value)
		for _, in := range w.modules.within(v.Module, n.In) {
			errs = errs.AppendError(w.eval.visiting(n).evalValueIn(ctx, v, in))
		}
	case graph.KindModule:
		m := whole.Object.(*graph.Module)
		return w.expandCalls(ctx, n, m, w.modules.within(m.Parent, n.In))
	case graph.KindExpand:
		return resourceVisit{w, n.Resource, n}.startPlan(ctx)
	case graph.KindResource:
		return w.visitResource(ctx, resourceVisit{w, n.Resource, n})
	}
	return errs.Err()
}

// inputs returns the node that waits for everything that the block refers to. If a Part is visited,
// it returns the Part.
func (v resourceVisit) inputs() *graph.Node {
	if v.part != nil {
		return v.part
	}
	return v.r.Inputs
}

// eval returns an evaluator for the visit.
func (v resourceVisit) eval() *evaluator { return v.w.eval.visiting(v.inputs()) }

// node returns the node that completes the visited instances.
func (v resourceVisit) node() *graph.Node { return v.partOf(v.r.Node) }

// all returns the module instances that the visit covers.
func (v resourceVisit) all() []*moduleInstance {
	if v.part != nil {
		return v.w.modules.within(v.r.Module, v.part.In)
	}
	all, _ := v.w.eval.modulesOf(v.r.Module)
	return all
}

// modules returns the module instances that the visit covers, without those that a Part has already
// handled.
func (v resourceVisit) modules() []*moduleInstance {
	all := v.all()
	if v.part != nil || !v.r.Node.Split && !v.r.Inputs.Split {
		return all
	}
	var rest []*moduleInstance
	for _, in := range all {
		if in.resources[v.r.Slot] == nil {
			rest = append(rest, in)
		}
	}
	return rest
}

// declaresAny reports whether the resource has a declared instance.
func (v resourceVisit) declaresAny() bool {
	for _, in := range v.w.modules.of(v.r.Module) {
		if x := in.resources[v.r.Slot]; x != nil && len(x.keys) > 0 {
			return true
		}
	}
	return false
}

// findDeferral finds the changes that can defer a data source or an ephemeral resource, on the
// first call for the resource.
func (v resourceVisit) findDeferral() {
	res := v.w.result(v.r)
	res.deferralOnce.Do(func() { res.deferral = findDeferral(v.r) })
}
