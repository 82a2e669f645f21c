package fleet

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/valuediff"
)

// A Loss is an object that must be destroyed to finish a plan, although the plan doesn't destroy it: an
// earlier run created it, but not completely.
type Loss struct{ Root, Object, Why string }

// String returns the loss as a sentence without a full stop.
func (l Loss) String() string { return l.Root + ": " + l.Object + " is destroyed, because " + l.Why }

// Losses plans what is left in the root modules that an earlier run began, and returns what that destroys
// beyond the plans in the archive. It ignores root modules that can't be planned, because Apply will say why.
func (run *Run) Losses(ctx context.Context, from *Saved, rec *Record) []Loss {
	a := newApplying(run, engine.ApplyOptions{}, from, rec)
	quiet := *run
	quiet.Selected = slices.DeleteFunc(slices.Clone(run.Selected), func(r *roots.Root) bool {
		return !rec.begun(r.Name)
	})
	if len(quiet.Selected) == 0 {
		return nil
	}
	quiet.Events = false
	quiet.Printer = func(*roots.Root, io.Writer) ui.Printer { return ui.NewHuman(ui.Options{Out: io.Discard}) }
	quiet.Show = func(*roots.Root, *Result, []byte) {}
	var mu sync.Mutex
	found := make(map[string][]Loss)
	quiet.each(ctx, planningLeft, from.Mode == plans.Destroy, func(
		ctx context.Context, s *session.Session, r *roots.Root,
	) *Result {
		saved, err := a.open(ctx, s, r)
		if err != nil {
			return &Result{Root: r, Err: err}
		}
		op, _, lost, err := a.left(ctx, s, r, saved)
		if err == nil {
			op.Close()
		}
		mu.Lock()
		defer mu.Unlock()
		found[r.Name] = lost
		return &Result{Root: r, Err: err}
	})
	var out []Loss
	for _, r := range quiet.Selected {
		out = append(out, found[r.Name]...)
	}
	return out
}

// left plans what is left in a root module that an earlier run began. The new plan may only contain changes
// that the approved plan contains, and destroy the objects in lost. Unless there is an error, the caller must
// close the operation.
func (a *applying) left(
	ctx context.Context, s *session.Session, r *roots.Root, saved *session.SavedPlan,
) (op *session.Operation, plan *plans.Plan, lost []Loss, err error) {
	s.Snapshot = nil
	options := a.run.Options
	options.RestOf = saved.Plan
	op, err = s.StartOperation(ctx, options, session.OperationApply)
	if err != nil {
		return nil, nil, nil, err
	}
	if !a.run.Events {
		op.Env.Observe = a.run.observer(r, s.Printer)
	}
	opts := &engine.PlanOptions{Mode: saved.Plan.Mode, Defer: true, NotSaved: true, RestOf: saved.Plan}
	if plan, err = op.PlanUnseen(ctx, opts); err == nil {
		err = within(saved.Plan, plan)
	}
	if err != nil {
		op.Close()
		return nil, nil, nil, err
	}
	return op, plan, losses(r.Name, saved.Plan, plan), nil
}

// losses returns what a plan for the rest of an approved plan destroys beyond that one.
func losses(root string, approved, plan *plans.Plan) (out []Loss) {
	for _, c := range plan.Changes.Instances {
		if !destroys(c) {
			continue
		}
		was := approved.Changes.Instance(c.Addr, c.Deposed)
		if was == nil {
			was = approved.Changes.Instance(c.Addr, addrs.NotDeposed) // it left a deposed object
		}
		isTainted := tainted(plan, c)
		if was != nil && destroys(was) && (!isTainted || tainted(approved, was) && valuediff.Alike(was.Before, c.Before)) {
			continue
		}
		loss := Loss{Root: root, Object: planview.Name(c),
			Why: "its creation failed in the earlier run and it is tainted; it is created again"}
		if !isTainted {
			loss.Why = "it was created by the earlier run and must now be replaced"
		}
		out = append(out, loss)
	}
	return out
}

// destroys reports whether a change destroys an object.
func destroys(c *plans.InstanceChange) bool {
	return c.Addr.Resource.Mode == addrs.Managed &&
		(c.Action == plans.Delete || c.Action.IsReplace() && c.Action != plans.ForgetThenCreate)
}

// tainted reports whether the object that a change destroys is tainted.
func tainted(plan *plans.Plan, c *plans.InstanceChange) bool {
	object := plan.Prior.Object(c.Addr, c.Deposed)
	return object != nil && object.Status == states.Tainted
}

// notAgreed returns an error if an object in lost is not in agreed. advice says how to go on.
func notAgreed(lost, agreed []Loss, advice string) error {
	var lines []string
	for _, l := range lost {
		if !slices.Contains(agreed, l) {
			lines = append(lines, "\n  - "+l.String())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return tfdiags.Errorf("What is left destroys more than was approved",
		"This was not known when you were asked:%s\nNothing more was changed here. %s", strings.Join(lines, ""), advice)
}

// LossTitle introduces a list of losses.
func LossTitle(lost []Loss) string {
	return fmt.Sprintf("Finishing what an earlier run began destroys %s that the plan does not destroy:",
		ui.Count(len(lost), "object"))
}
