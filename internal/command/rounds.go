package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// rounds is an apply that plans what it can, applies that, and goes on with what was deferred.
type rounds struct {
	op    *session.Operation
	flags *applyFlags
	opts  *engine.PlanOptions
	left  int // the number of rounds that may follow; set by the first plan
}

// run applies round after round until nothing is deferred.
func (r *rounds) run(ctx context.Context) error {
	app := r.op.Session
	result := ui.Applied{Destroy: r.flags.command}
	for first := true; ; first = false {
		plan, err := r.op.Plan(ctx, r.opts)
		if err != nil {
			return err
		}
		if first {
			r.left = len(plan.Deferred)
		}
		if plan.Defers() && (!plan.Applyable || r.left == 0) {
			return stuck(plan)
		}
		if !r.flags.AutoApprove && plan.Applyable {
			app.Printer.Diagnostics(app.Warnings.Take()) // before asking the user
			if err := approve(ctx, r.op, plan); err != nil {
				return err
			}
		}
		st, err := r.flags.applyPlan(ctx, r.op, plan, "", &result)
		if err != nil {
			return err
		}
		if !plan.Defers() {
			r.flags.report(r.op, result, st)
			return nil
		}
		app.Printer.Diagnostics(app.Warnings.Take())
		app.Say("\nThis part of the plan is applied. Planning what was deferred (%s).",
			count(len(plan.Deferred), "change"))
		r.opts.ForceReplace = notReplaced(r.opts.ForceReplace, plan)
		r.left--
	}
}

// notReplaced returns the addresses that a plan has not replaced, because they are deferred.
func notReplaced(forced []addrs.AbsInstance, plan *plans.Plan) []addrs.AbsInstance {
	return slices.DeleteFunc(slices.Clone(forced), func(addr addrs.AbsInstance) bool {
		c := plan.Changes.Instance(addr, addrs.NotDeposed)
		return c != nil && c.Action.IsReplace()
	})
}

// maxCauses is the number of deferred changes that an error lists.
const maxCauses = 20

// stuck returns the error about a plan that brings none of its deferred changes nearer.
func stuck(plan *plans.Plan) error {
	var b strings.Builder
	for i, d := range plan.Deferred {
		if i == maxCauses {
			fmt.Fprintf(&b, "\n  - and %s more", count(len(plan.Deferred)-i, "change"))
			break
		}
		fmt.Fprintf(&b, "\n  - %s: %s", d.Addr, d.Because())
	}
	return tfdiags.Errorf("Deferred changes can't be planned",
		"Applying this plan would not make known what these changes wait for:%s", b.String())
}

// leftToPlan says what is left to do after a saved plan was applied.
func leftToPlan(plan *plans.Plan) string {
	return fmt.Sprintf("Not everything is done: %s deferred by this plan. Make a new plan to continue.",
		count(len(plan.Deferred), "change"))
}

// count returns a number of things: "1 change", "2 changes".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
