package command

import (
	"context"
	"time"

	"tofu/internal/depsfile"
	"tofu/internal/engine"
	"tofu/internal/explain"
	"tofu/internal/session"
	"tofu/internal/states/statemgr"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdExplain = &Command{
	Name: "explain", Own: true, Args: "ADDRESS [PLAN]", Complete: addressNames, Short: "Explain why something is in a plan, or why not",
	Long: `
Explains why a module, a resource, an instance or an output (output.NAME) is in
the saved plan in the file PLAN, or in a new plan: the action, the attributes
that cause it and where their values come from, what it waits for, and what
waits for it.

For a variable, a local (var.NAME, local.NAME, module.M.var.NAME), an output of
a module (module.M.output.NAME) or a data source it prints the value, where it
comes from, what reads it and which changes use it.

For something that is not in the plan it explains why not: for example because
of -target, ignore_changes or a count of 0.

When an object was last changed is known only with the backend postgres. The
states of other backends have no history.`,
	New: with(func(f *explainFlags, fs *options) {
		f.planFlags.viewFlags.add(fs)
		f.varFlags.add(fs)
		f.lockFlags.add(fs)
		f.stateFlags.addIn(fs)
		f.targetFlags.add(fs)
		fs.BoolVar(&f.Destroy, "destroy", false, "Explain a plan to destroy everything.")
		fs.BoolVar(&f.RefreshOnly, "refresh-only", false, "Explain a plan that only records changes made outside of OpenTofu.")
		fs.BoolVar(&f.Refresh, "refresh", true, "Do not check whether objects changed outside of OpenTofu.")
		f.Look.add(fs)
		fs.Var((*list)(&f.Replace), "replace", "Replace the resource instance at this `address`. May be repeated.")
		fs.BoolVar(&f.Document, "json", false, "Print a JSON document.")
		fs.BoolVar(&f.WhyNot, "why-not", false, "Only explain why the address is not in the plan, or say that it is.")
	}, runExplain),
}

type explainFlags struct {
	planFlags
	Document, WhyNot bool
}

func runExplain(ctx context.Context, app *App, f *explainFlags, args []string) error {
	if len(args) == 0 || len(args) > 2 {
		return badUsage("One or two arguments are required",
			"Explain needs the address of a module, a resource, an instance, a variable, a local or an output, "+
				"and optionally the file of a saved plan.")
	}
	if err := explain.Valid(args[0]); err != nil {
		return err
	}
	subject, end, err := explained(ctx, app, f, args[1:])
	defer end()
	if err != nil {
		return err
	}
	answer, err := explain.At(ctx, subject, args[0])
	if err != nil {
		return err
	}
	app.printOnStderr(app.Warnings.Take())
	if f.WhyNot {
		answer.Objects, answer.Output, answer.Value, answer.Omitted = nil, nil, nil, 0
	}
	switch {
	case f.Document:
		return answer.WriteJSON(app.Out)
	case f.WhyNot && answer.InPlan:
		app.Say("%s is in the plan. Without -why-not, the command says why.", args[0])
		return nil
	}
	columns := 0
	if app.OutTerminal {
		columns = app.Width
	}
	return answer.WriteText(app.textOut(), columns)
}

// explained returns the saved plan in the file that args names or, without arguments, a new plan.
// The subject is nil if there is no plan to explain. The returned function releases the resources
// of the plan.
func explained(
	ctx context.Context, app *App, f *explainFlags, args []string,
) (*explain.Subject, func(), error) {
	if len(args) > 0 {
		return explainSaved(ctx, app.Session, args[0], f.Variables)
	}
	opts, err := f.options()
	if err != nil {
		return nil, func() {}, err
	}
	app.onStderr()
	op, err := app.StartOperation(ctx, f.operation(), session.OperationPlan)
	if err != nil {
		return nil, func() {}, err
	}
	of, err := explainNew(ctx, op, opts)
	return of, op.Close, err
}

// explainSaved returns the saved plan in the file at path, and a function that releases its
// resources.
func explainSaved(
	ctx context.Context, s *session.Session, path string, vars session.Variables,
) (*explain.Subject, func(), error) {
	saved, err := readPlan(ctx, s, path, vars)
	if err != nil {
		return nil, func() {}, err
	}
	locks, err := depsfile.Parse(saved.LockFile, "the plan's "+depsfile.FileName, s.Warnings.Add)
	if err != nil {
		return nil, func() {}, err
	}
	subject, end, err := planSubject(ctx, s, saved)
	if err != nil {
		return nil, end, err
	}
	of, err := session.Explained(ctx, subject.planView(), subject.env, locks)
	if err != nil {
		return nil, end, err
	}
	h, err := planHistory(ctx, s, saved)
	if err != nil {
		s.Warnings.Add(tfdiags.Warningf("No history", "It is not known when objects were last changed. %s",
			tfdiags.Sentence(err)))
	}
	if h != nil {
		of.History = &explain.History{Historian: h, Workspace: saved.Backend.Workspace}
	}
	return of, end, nil
}

// explainNew creates a plan and returns it in the form that package explain needs. It returns nil
// if there is no plan to explain.
func explainNew(ctx context.Context, op *session.Operation, opts *engine.PlanOptions) (*explain.Subject, error) {
	op.Env.Observe = nil
	plan, err := op.PlanUnseen(ctx, opts)
	if plan == nil || err != nil {
		return nil, err
	}
	view := &ui.PlanView{Plan: plan, Config: op.Config.Config,
		Schemas: op.Providers.Schemas(terminal.UntilAbort(ctx), tfdiags.Drop)}
	return op.Explained(ctx, view)
}

// historyWait is the maximum time to look for the state history of a saved plan. The machine on
// which the plan is explained may not be able to reach the server.
const historyWait = 3 * time.Second

// planHistory returns the history of the state that a plan was created from. It returns nil if the
// backend keeps no history.
func planHistory(ctx context.Context, s *session.Session, saved *session.SavedPlan) (statemgr.Historian, error) {
	ctx, cancel := context.WithTimeout(ctx, historyWait)
	defer cancel()
	return saved.History(ctx, s)
}
