package command

import (
	"context"
	"errors"
	"fmt"

	"tofu/internal/backend"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdApply = &Command{
	Name: "apply", Main: true, Args: "[PLAN]", Short: "Carry out a plan: create, change and destroy objects",
	Long: `
Makes real what the configuration says: plans, shows the plan, asks for
approval and carries it out. With a plan that "tofu plan -out=PLAN" saved,
exactly that plan is carried out without a question.`,
	New: with((*applyFlags).declare, func(ctx context.Context, app *App, f *applyFlags, args []string) error {
		return runApply(ctx, app, f, args)
	}),
}

var cmdDestroy = &Command{
	Name: "destroy", Main: true, Short: "Destroy everything that is managed here",
	Long: `
Destroys everything that the configuration manages. It is the same as
"tofu apply -destroy"; "tofu plan -destroy" shows what would be destroyed.`,
	New: with(func(f *applyFlags, fs *options) {
		f.declare(fs)
		f.command = true
	}, func(ctx context.Context, app *App, f *applyFlags, args []string) error {
		switch {
		case len(args) > 0:
			return badUsage("Too many command line arguments", "The destroy command takes no plan: use \"tofu apply\" for a plan made with -destroy.")
		case f.given("destroy"):
			return badUsage("Invalid option", "The destroy command takes no -destroy option.")
		case f.given("refresh-only"):
			return badUsage("Invalid option", "The destroy command takes no -refresh-only option.")
		}
		f.Destroy = true
		return runApply(ctx, app, f, nil)
	}),
}

type applyFlags struct {
	planFlags
	AutoApprove bool
	command     bool // it is the destroy command
	given       func(option string) bool
}

func (f *applyFlags) declare(fs *options) {
	f.add(fs)
	f.stateFlags.add(fs)
	f.given = fs.given
	fs.BoolVar(&f.AutoApprove, "auto-approve", false, "Do not ask for approval.")
	fs.BoolVar(&f.SuppressForgetErrors, "suppress-forget-errors", false,
		"Succeed although a destroy left behind objects that were only forgotten.")
}

func runApply(ctx context.Context, app *App, f *applyFlags, args []string) error {
	switch {
	case len(args) > 1:
		return badUsage("Too many command line arguments", "Expected at most one argument, the path of a saved plan.")
	case len(args) == 1:
		return applySaved(ctx, app, f, args[0])
	case app.view.JSON && !f.AutoApprove:
		return badUsage("Plan file or auto-approve required",
			"With -json nothing can be asked, so either give a saved plan or use -auto-approve.")
	}
	opts, diags := f.options()
	if diags.HasErrors() {
		return diags.Err()
	}
	if err := app.requireConfigFor(opts.Mode); err != nil {
		return err
	}
	op, more := app.startOperation(ctx, &f.operationFlags, operationApply)
	diags = diags.Append(more)
	if diags.HasErrors() {
		return diags.Err()
	}
	defer op.close()
	op.env.Parallelism = f.Parallelism
	opts.NotSaved = true
	plan, more := op.plan(ctx, opts, true)
	diags = diags.Append(more)
	if diags.HasErrors() {
		return diags.Err()
	}
	if !f.AutoApprove && plan.Applyable {
		app.Printer.Diagnostics(diags) // before the question
		diags = nil
		if err := op.approve(ctx, plan); err != nil {
			return err
		}
	}
	return op.applyAndReport(ctx, plan, "", f, diags)
}

// approve asks whether a plan may be carried out.
func (op *operation) approve(ctx context.Context, plan *plans.Plan) error {
	where := ""
	if op.place.workspace != backend.DefaultWorkspace {
		where = fmt.Sprintf(" in workspace %q", op.place.workspace)
	}
	q := terminal.Question{Title: "Do you want to perform these actions" + where + "?"}
	switch plan.Mode {
	case plans.Destroy:
		q = terminal.Question{Title: "Destroy all of this" + where + "?", Text: "This can't be undone."}
	case plans.RefreshOnly:
		if !hasChanges(plan) {
			q = terminal.Question{Title: "Record these changes in the state" + where + "?", Text: "The objects themselves stay as they are."}
		}
	}
	ok, err := op.app.Confirm(ctx, q)
	if errors.Is(err, terminal.ErrInputEnded) {
		return fmt.Errorf("%w. With -auto-approve nothing is asked", err)
	}
	if err != nil {
		return err
	}
	if !ok {
		op.app.Say("\n%s cancelled.", map[bool]string{true: "Destroy", false: "Apply"}[plan.Mode == plans.Destroy])
		return exitStatus(1)
	}
	return nil
}

// applyAndReport applies a plan and says how it went.
func (op *operation) applyAndReport(ctx context.Context, plan *plans.Plan, planID string, f *applyFlags, diags tfdiags.Diagnostics) error {
	if op.app.Interrupts.Stopped() {
		return diags.Append(tfdiags.Errorf("Execution halted", "The operation was interrupted before anything was applied.")).Err()
	}
	if plan.Mode != plans.RefreshOnly { // whose conditions of resources are for planning
		diags = diags.Except(func(d tfdiags.Diagnostic) bool { // the other conditions are evaluated again
			_, condition := d.Extra.(tfdiags.CheckRule)
			return condition
		})
	}
	st, tally, more := op.apply(ctx, plan, planID, &engine.ApplyOptions{
		Variables: op.variables, SuppressForgetErrors: f.SuppressForgetErrors, ShowSensitive: f.ShowSensitive,
	})
	diags = diags.Without(more).Append(more) // what holds before and after is said once
	if diags.HasErrors() {
		return diags.Err()
	}
	op.app.Printer.Diagnostics(diags)
	op.app.Printer.Message(ui.Applied{Counts: tally.Counts(), Destroy: f.command})
	if !f.command {
		op.app.Printer.Message(ui.Outputs{Values: outputs(st)})
	}
	return nil
}
