package session

import (
	"context"

	"tofu/internal/engine"
	"tofu/internal/engine/graph"
	"tofu/internal/footprint"
	"tofu/internal/graphview"
	"tofu/internal/plans"
	"tofu/internal/states/statemgr"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

// setFootprint records in a plan what the plan has read and what it will write, if the store needs
// this. It also records the outputs that the plan has read from other states. It does nothing for a plan
// that is neither stored nor applied.
func (op *Operation) setFootprint(ctx context.Context, plan *plans.Plan, opts *engine.PlanOptions) error {
	remote := op.Session.remote.take()
	if !op.State.Shared() && len(remote) == 0 || opts.NotSaved && op.Name != OperationApply {
		return nil
	}
	defer op.Session.Timings.Phase("footprint")()
	env := op.QuietEnv()
	env.Warn = tfdiags.Drop // planning has already reported these warnings
	g, err := graph.Build(terminal.UntilAbort(ctx),
		engine.GraphOperation(op.Config.Config, op.State.State(), env, engine.GraphPlan, nil))
	if err != nil {
		return err
	}
	read := op.State.Current()
	if e := op.Session.Estate; e != nil && e.Prior != nil {
		read = e.Prior // the moves come first
	}
	found := footprint.Of(graphview.Build(g, nil, nil), plan, statemgr.ChangedInstances(read, plan.Prior), read)
	found.Revision = op.State.Snapshot.Revision
	if op.State.Shared() {
		plan.Footprint = found
	}
	plan.Remote, err = op.remoteUse(remote, found)
	return err
}

// Outdated reports whether an operation has failed before it changed anything, because another run
// has changed something on which the operation's plan depends.
func Outdated(err error) bool {
	for _, d := range tfdiags.FromError(err) {
		if _, changed := d.Extra.(*statemgr.ChangedError); changed {
			return true
		}
	}
	return false
}

// Reread reads the state again, so that another plan can be created from it.
func (op *Operation) Reread(ctx context.Context) error {
	snapshot, err := op.State.Read(ctx, op.Session.Warnings.Add)
	if err != nil {
		return err
	}
	op.State.Snapshot = snapshot
	op.State.Replace(Adopt(op.State.State(), op.Config.Config, op.Session.Env))
	return nil
}
