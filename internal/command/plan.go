package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tofu/internal/configs/inputs"
	"tofu/internal/engine"
	"tofu/internal/lang/marks"
	"tofu/internal/lint"
	"tofu/internal/plans"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdPlan = &Command{
	Name: "plan", Main: true, Short: "Show what an apply would do",
	Long: `
Shows which objects an apply would create, update and destroy to match the
configuration. It changes nothing.

"tofu apply" can apply a plan that was saved with -out; it then makes exactly
the changes that were shown.`,
	New: with(func(f *planCommandFlags, fs *options) {
		f.add(fs)
		f.addInvoke(fs)
		f.stateFlags.addIn(fs)
		f.stateFlags.addUnused(fs)
		fs.Func("var-unknown", "Plan as if the value of the variable `name` were not known yet; name.attribute is a "+
			"part of one. An apply of the saved plan requires the value. May be repeated.",
			func(text string) error {
				f.Vars = append(f.Vars, inputs.Flag{Unknown: true, Text: text})
				return nil
			})
		fs.Func("against", "Plan to restore the objects as they were at `RUN|TIME`: at the end "+
			"of a run, whose ID may be abbreviated, or at a time such as 2026-01-31T12:00:00Z. What can't be undone "+
			"is listed. Needs the backend \"postgres\".", someRun(&f.Against))
		addUndo(fs, &f.Undo)
		fs.BoolVar(&f.Watch, "watch", false, "Show the plan on the terminal until an interrupt, and plan again when a "+
			"file changes. Objects are read once; with -refresh-older-than, again when they were read that long ago.")
		f.Look.addVanished(fs, nil)
		fs.StringVar(&f.Out, "out", "", "Save the plan to `path`, for the apply command.")
		fs.BoolVar(&f.DetailedExitCode, "detailed-exitcode", false,
			"Exit with status 0 without changes, 1 after an error, and 2 with changes.")
		fs.BoolVar(&f.Summary, "summary-json", false, "Print only a JSON document with the number of changes by "+
			"action, type and module.")
		fs.StringVar(&f.GenerateConfig, "generate-config-out", "",
			"(Experimental) Write configuration for import blocks that have none to `path`, which must not exist. Blocks "+
				"of local modules go to files of that name in their directories.")
	}, runPlan),
}

// addUndo declares the option to take back a run.
func addUndo(fs *options, into *string) {
	fs.Func("undo", "Take back what `RUN` did, whose ID may be abbreviated: destroy what it created, "+
		"set back what it updated, and create again what it destroyed. Other objects and changes of the configuration "+
		"are left alone. What can't be undone is listed. \"last\" is the last run that changed something; others need the "+
		"backend \"postgres\".", someRun(into))
}

// someRun returns the function of an option that names a run. An empty name is an error: it may be a variable of a
// script that isn't set, and a plan of the configuration is not what was meant.
func someRun(into *string) func(string) error {
	return func(text string) error {
		if *into = text; text == "" {
			return errors.New("the name of the run is empty")
		}
		return nil
	}
}

// undoes checks the options of a plan that takes back a run, and sets those that it needs. other reports
// whether there is another option that says what to plan.
func undoes(opts *engine.PlanOptions, other bool) error {
	if opts.Mode != plans.Normal || other {
		return badUsage("Incompatible options",
			"-undo can't be used together with -destroy, -refresh-only, -against or -generate-config-out.")
	}
	opts.Defer = false // a later round would apply the configuration
	return nil
}

type planCommandFlags struct {
	planFlags
	Out, GenerateConfig string
	Against, Undo       string
	DetailedExitCode    bool
	Summary, Watch      bool
}

func runPlan(ctx context.Context, app *App, f *planCommandFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	if f.Watch {
		return f.watch(ctx, app)
	}
	if f.Summary && (f.JSON || f.JSONInto != "") {
		return badUsage("Incompatible options", "-summary-json can't be used together with -json or -json-into.")
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	if f.Summary {
		app.onStderr()
	}
	opts.GenerateConfig, opts.NotSaved = f.GenerateConfig != "", f.Out == ""
	if f.Undo != "" {
		if err := undoes(opts, f.GenerateConfig != "" || f.Against != ""); err != nil {
			return err
		}
	}
	if f.Against != "" {
		if opts.Mode != plans.Normal || f.GenerateConfig != "" {
			return badUsage("Incompatible options",
				"-against can't be used together with -destroy, -refresh-only or -generate-config-out.")
		}
		opts.Defer = false // a later round would apply the configuration instead of restoring the objects
	}
	if err := tfdiags.Join(generateTarget(f.GenerateConfig, opts.Mode), planTarget(f.Out)); err != nil {
		return err
	}
	if err := session.RequireConfigFor(opts.Mode, app.Parser, app.RootDir); err != nil {
		return err
	}
	op, err := app.StartOperation(ctx, f.operation(), session.OperationPlan)
	if err != nil {
		return err
	}
	defer op.Close()
	if f.Against != "" {
		opts.Past, err = op.Past(ctx, f.Against)
		if err != nil {
			return err
		}
	}
	if f.Undo != "" {
		opts.Past, err = op.Undo(ctx, f.Undo)
		if err != nil {
			return err
		}
	}
	plan, err := f.plan(ctx, op, opts)
	var generated []string
	if plan != nil && f.GenerateConfig != "" {
		var writeErr error
		generated, writeErr = writeGenerated(f.GenerateConfig, plan, app.Warnings.Add)
		err = tfdiags.Join(err, writeErr)
	}
	if plan != nil && f.Out != "" {
		err = tfdiags.Join(err, savePlan(terminal.UntilAbort(ctx), op, f.Out, plan))
	}
	if err != nil {
		return err
	}
	app.Printer.Diagnostics(app.Warnings.Take())
	f.notes(app, plan, generated)
	if f.DetailedExitCode && (plan.Applyable || plan.Defers()) {
		return exitStatus(2)
	}
	return nil
}

// plan creates a plan and prints the plan or its summary.
func (f *planCommandFlags) plan(
	ctx context.Context, op *session.Operation, opts *engine.PlanOptions,
) (*plans.Plan, error) {
	if !f.Summary {
		return op.Plan(ctx, opts)
	}
	op.Env.Observe = nil
	plan, err := op.PlanUnseen(ctx, opts)
	if plan != nil {
		err = tfdiags.Join(err, ui.WriteSummary(op.Session.Out, plan))
	}
	return plan, err
}

// notes prints what the user can do with a plan. generated holds the files with generated configuration.
func (f *planCommandFlags) notes(app *App, plan *plans.Plan, generated []string) {
	if f.Summary {
		return
	}
	switch {
	case f.Out != "" && app.Automated:
	case f.Out != "":
		app.Printer.Message(ui.Rule{})
		app.Printer.Message(ui.PlanSaved{Path: f.Out})
	case plan.Applyable && !app.Automated:
		app.Printer.Message(ui.Rule{})
		app.Printer.Message(ui.Hint{Text: "\nNote: You didn't use the -out option to save this plan, so " +
			"an apply makes a\nplan of its own, which may differ."})
	}
	if len(generated) > 0 {
		app.Printer.Message(ui.Hint{Text: fmt.Sprintf("\nThe configuration of the imported resources was written "+
			"to %s.\nReview and complete it before you commit it.", strings.Join(generated, ", "))})
	}
}

var cmdRefresh = &Command{
	Name: "refresh", Short: "Record in the state what changed outside",
	Long: `
Reads all objects and updates the state with the changes that were made outside
of this program. It is the same as "tofu apply -refresh-only -auto-approve";
without -auto-approve, that command shows the changes first.`,
	New: with(func(f *refreshFlags, fs *options) {
		f.operationFlags.add(fs)
		f.targetFlags.add(fs)
		f.stateFlags.add(fs)
		f.addSensitive(fs)
		addLint(fs, &f.Lint)
		unattended := true
		f.Look.addVanished(fs, &unattended)
		// These options are accepted for compatibility. They have no effect.
		for _, name := range []string{"destroy", "refresh", "refresh-only"} {
			fs.Bool(name, true, "")
		}
		fs.Var(&list{}, "replace", "")
	}, runRefresh),
}

type refreshFlags struct {
	operationFlags
	targetFlags
	Look lookFlags
	Lint *lint.Selection
}

func runRefresh(ctx context.Context, app *App, f *refreshFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	whole := &planFlags{operationFlags: f.operationFlags, targetFlags: f.targetFlags, Look: f.Look, Refresh: true,
		Defer: true, Lint: f.Lint}
	opts, err := whole.options()
	if err != nil {
		return err
	}
	op, err := app.StartOperation(ctx, whole.operation(), session.OperationRefresh)
	if err != nil {
		return err
	}
	defer op.Close()
	if op.State.State().CountManaged() == 0 {
		app.Warnings.Add(tfdiags.Warningf("Empty or non-existent state",
			"The state has no objects, so there is nothing to refresh."))
	}
	// A normal plan begins with a refresh. Its prior state therefore has all changes made outside
	// of OpenTofu, and is the result of this command.
	opts.NotSaved = true
	plan, err := op.PlanQuietly(ctx, opts)
	if err != nil {
		return err
	}
	st := withPlannedOutputs(plan)
	if err := op.Save(ctx, st); err != nil {
		return err
	}
	app.Printer.Diagnostics(app.Warnings.Take())
	app.Printer.Message(ui.Outputs{Values: st.Outputs()})
	return nil
}

// withPlannedOutputs returns the prior state of a plan with the planned output values, as far
// as they are known.
func withPlannedOutputs(plan *plans.Plan) *states.State {
	st := plan.Prior.Clone()
	for _, o := range plan.Changes.Outputs {
		value, _ := o.After.UnmarkDeep()
		if o.Action != plans.Delete && value.IsWhollyKnown() && !value.IsNull() {
			st.SetOutput(o.Name, &states.Output{Value: value, Sensitive: marks.Contains(o.After, marks.Sensitive),
				Deprecated: o.Deprecated})
		}
	}
	return st
}
