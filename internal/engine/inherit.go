package engine

import (
	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// repairDependencies completes the stored dependencies of the objects in the resulting state.
// before is the state at the start of the walk.
func (f finisher) repairDependencies(before *states.State) {
	w := f.w
	w.out.state.RepairDependencies(states.DependencyRepair{Before: before, Moved: w.op.moves.All(),
		Configured: f.configuredDeps, UpToDate: f.upToDate})
}

func (f finisher) configuredDeps(addr addrs.ConfigResource) *states.Dependencies {
	w := f.w
	if r := w.graph.Resource(addr); r != nil && r.Config != nil {
		return r.Recorded.Dependencies
	}
	return nil
}

// upToDate reports whether an object matches its configuration. Either its planned action is NoOp,
// or it was stored by this apply and so has the dependencies that this apply assigns.
func (f finisher) upToDate(addr addrs.AbsInstance, obj *states.Object) bool {
	w := f.w
	if change := w.out.changes.Instance(addr, addrs.NotDeposed); change != nil && change.Action == plans.NoOp {
		return true
	}
	r := w.graph.Resource(addr.Config())
	return w.op.Phase.Applies() && r != nil && r.Recorded.Dependencies != nil &&
		obj.Dependencies == r.Recorded.Dependencies
}
