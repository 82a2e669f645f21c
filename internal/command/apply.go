package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdApply = &Command{
	Name: "apply", Main: true, Args: "[PLAN]", Complete: planFiles, Short: "Carry out a plan: create, change and destroy objects",
	Long: `
Creates, changes and destroys objects according to the configuration: makes a
plan, shows it, asks for approval and applies it. With a plan file that
"tofu plan -out=PLAN" saved, applies exactly that plan without asking.`,
	New: with(func(f *applyFlags, fs *options) {
		f.declare(fs)
		f.addInvoke(fs)
	}, func(ctx context.Context, app *App, f *applyFlags, args []string) error {
		return runApply(ctx, app, f, args)
	}),
}

var cmdDestroy = &Command{
	Name: "destroy", Main: true, Short: "Destroy everything that is managed here",
	Long: `
Destroys all objects that are managed in the current workspace, including those
whose blocks are no longer in the configuration. It is the same as
"tofu apply -destroy"; "tofu plan -destroy" shows which objects would be
destroyed.`,
	New: with(func(f *applyFlags, fs *options) {
		f.declare(fs)
		f.command = true
	}, func(ctx context.Context, app *App, f *applyFlags, args []string) error {
		switch {
		case len(args) > 0:
			return badUsage("Too many command line arguments",
				"The destroy command takes only options, no arguments; got %q. To destroy single objects, use "+
					"-target=ADDRESS. To apply a plan that was saved with -destroy, use \"tofu apply\".", args[0])
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
	AutoApprove      bool
	Undo             string
	DetailedExitCode bool
	command          bool // whether the command is destroy
	given            func(option string) bool
}

func (f *applyFlags) declare(fs *options) {
	f.add(fs)
	f.stateFlags.add(fs)
	f.given = fs.given
	fs.BoolVar(&f.AutoApprove, "auto-approve", false, "Do not ask for approval.")
	f.Look.addVanished(fs, &f.AutoApprove)
	addRetry(fs, &f.Retries)
	addUndo(fs, &f.Undo)
	fs.BoolVar(&f.DetailedExitCode, "detailed-exitcode", false,
		"Exit with status 2 if the saved plan deferred changes that are still to be planned.")
	fs.BoolVar(&f.SuppressForgetErrors, "suppress-forget-errors", false,
		"Succeed even if a destroy only forgot some of the objects.")
}

func runApply(ctx context.Context, app *App, f *applyFlags, args []string) error {
	switch {
	case len(args) > 1:
		return badUsage("Too many command line arguments", "Expected at most one argument, the path of a saved plan.")
	case len(args) == 1 && f.Undo != "":
		return badUsage("Incompatible arguments", "-undo makes a plan of its own, so it can't be used with a saved plan.")
	case len(args) == 1:
		return applySaved(ctx, app, f, args[0])
	case app.view.JSON && !f.AutoApprove && f.command:
		return badUsage("Auto-approve required", "With -json, destroy can't ask for approval: specify -auto-approve.")
	case app.view.JSON && !f.AutoApprove:
		return badUsage("Plan file or auto-approve required",
			"With -json, apply can't ask for approval: specify a saved plan or -auto-approve.")
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	if f.Undo != "" {
		if err := undoes(opts, false); err != nil {
			return err
		}
	}
	if err := session.RequireConfigFor(opts.Mode, app.Parser, app.RootDir); err != nil {
		return err
	}
	op, err := app.StartOperation(ctx, f.operation(), session.OperationApply)
	if err != nil {
		return err
	}
	defer op.Close()
	if f.Undo != "" {
		opts.Past, err = op.Undo(ctx, f.Undo)
		if err != nil {
			return err
		}
	}
	opts.NotSaved = true
	return f.applyRounds(ctx, op, opts)
}

// approve asks the user whether to apply a plan.
func approve(ctx context.Context, op *session.Operation, plan *plans.Plan) error {
	where := ""
	if op.Location.Workspace != backend.DefaultWorkspace {
		where = fmt.Sprintf(" in workspace %q", op.Location.Workspace)
	}
	q := terminal.Question{Title: "Do you want to perform these actions" + where + "?"}
	switch plan.Mode {
	case plans.Destroy:
		q = terminal.Question{Title: "Destroy all of this" + where + "?", Text: "This can't be undone."}
	case plans.RefreshOnly:
		if !session.HasChanges(plan) {
			q = terminal.Question{Title: "Record these changes in the state" + where + "?",
				Text: "The objects themselves stay as they are."}
		}
	}
	if l := plan.Looked; l != nil {
		q.Text = strings.TrimSpace(l.Text(plan.Timestamp) + ".\n" + q.Text)
	}
	if n := len(plan.Unread); n > 0 {
		q.Text = strings.TrimSpace(fmt.Sprintf("%s could not be read, such as %s.\n%s", ui.Count(n, "object"),
			plan.Unread[0], q.Text))
	}
	if len(plan.Vanished) > 0 {
		q.Text = strings.TrimSpace("Many objects are gone: " + strings.Join(plan.Vanished, " ") + "\n" + q.Text)
	}
	ok, err := op.Session.Confirm(ctx, q)
	if errors.Is(err, terminal.ErrInputEnded) {
		return fmt.Errorf("%w. To proceed without being asked, use -auto-approve", err)
	}
	if err != nil {
		return err
	}
	if !ok {
		what := "Apply"
		if plan.Mode == plans.Destroy {
			what = "Destroy"
		}
		op.Session.Say("\n%s cancelled.", what)
		return exitStatus(1)
	}
	return nil
}

// applyPlan applies a plan and adds what it did to the result.
func (f *applyFlags) applyPlan(
	ctx context.Context, op *session.Operation, plan *plans.Plan, planID string, result *ui.Applied,
) (*states.State, error) {
	if op.Session.Interrupts.Stopped() {
		return nil, tfdiags.Errorf("Execution halted", "The operation was interrupted before this plan was applied.")
	}
	warnings := &op.Session.Warnings
	before := warnings.Take()
	// A refresh-only plan evaluates the conditions of resources; its apply doesn't repeat this.
	if plan.Mode != plans.RefreshOnly {
		// Otherwise apply evaluates all conditions again, so drop the plan's warnings about them.
		before = before.Filter(func(d tfdiags.Diagnostic) bool {
			_, condition := d.Extra.(tfdiags.CheckRule)
			return !condition
		})
	}
	st, tally, err := op.Apply(ctx, plan, planID, &engine.ApplyOptions{
		Variables: op.Variables, SuppressForgetErrors: f.SuppressForgetErrors, ShowSensitive: f.ShowSensitive,
	})
	during := warnings.Take()
	warnings.Add(before.Dedup(during)...) // a warning of both the plan and the apply is reported once
	warnings.Add(during...)
	if err == nil {
		result.Counts = result.Counts.Plus(tally.Counts())
	}
	return st, err
}

// report prints the result of an apply, and the warnings.
func (f *applyFlags) report(op *session.Operation, result ui.Applied, st *states.State) {
	op.Session.Printer.Diagnostics(op.Session.Warnings.Take())
	op.Session.Printer.Message(result)
	if !f.command {
		op.Session.Printer.Message(ui.Outputs{Values: st.Outputs()})
	}
}
