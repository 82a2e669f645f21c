package command

import (
	"context"

	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/session"
	"tofu/internal/ui"
)

// maxReplans is the maximum number of times that an apply without approval plans again because
// another run changed the state first.
const maxReplans = 20

// applyRounds applies the configuration in rounds, until nothing is deferred. Each round plans
// what is not deferred, asks the user, and applies the plan.
func (f *applyFlags) applyRounds(ctx context.Context, op *session.Operation, opts *engine.PlanOptions) error {
	printer, warnings := op.Session.Printer, &op.Session.Warnings
	result := ui.Applied{Destroy: f.command}
	for rounds, again := (engine.Rounds{}), 0; ; {
		before := rounds
		plan, err := op.Plan(ctx, opts)
		if err != nil {
			return err
		}
		if err := rounds.Check(plan); err != nil {
			return err
		}
		if !f.AutoApprove && plan.Applyable {
			printer.Diagnostics(warnings.Take()) // show the warnings before asking the user
			if err := approve(ctx, op, plan); err != nil {
				return err
			}
		}
		st, err := f.applyPlan(ctx, op, plan, "", &result)
		if f.AutoApprove && again < maxReplans && session.Outdated(err) {
			op.Session.Say("\nAnother run has changed what this plan depends on. Planning again.")
			if err := op.Reread(ctx); err != nil {
				return err
			}
			rounds, again = before, again+1
			continue
		}
		if err != nil {
			return err
		}
		if !plan.Defers() {
			f.report(op, result, st)
			return nil
		}
		printer.Diagnostics(warnings.Take())
		op.Session.Say("\nThis part of the plan has been applied. Now planning what was deferred (%s).", deferredCount(plan))
		opts = rounds.Next(opts, plan)
	}
}

// deferredCount returns the number of changes that a plan defers, as text: "1 change", "2
// changes". If it only defers calls of modules without resources, it returns their number.
func deferredCount(plan *plans.Plan) string {
	if len(plan.Deferred) == 0 {
		return ui.Count(len(plan.DeferredModules), "module call")
	}
	return ui.Count(len(plan.Deferred), "change")
}
