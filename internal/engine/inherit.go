package engine

import (
	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// repairDependencies completes the stored dependencies of the objects in the resulting state.
// before is the state in which the walk started.
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

// upToDate reports whether the stored dependencies of an object match its configuration. They do if
// the planned action is NoOp, or if this apply has stored the object with the dependencies of its
// resource.
func (f finisher) upToDate(addr addrs.AbsInstance, obj *states.Object) bool {
	w := f.w
	if change := w.out.changes.Instance(addr, addrs.NotDeposed); change != nil && change.Action == plans.NoOp {
		return true
	}
	r := w.graph.Resource(addr.Config())
	return w.op.Phase.Applies() && r != nil && r.Recorded.Dependencies != nil &&
		obj.Dependencies == r.Recorded.Dependencies
}
