package command

import (
	"context"
	"errors"
	"fmt"

	"tofu/internal/engine"
	"tofu/internal/getmodules"
	"tofu/internal/moduletest"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdValidate = &Command{
	Name: "validate", Main: true, Args: "[DIR]", Short: "Check the configuration",
	Long: `
Validates the configuration: syntax, names, types, and the rules of providers.
It reads neither the state nor remote objects, and requires no values of
variables. Modules and providers must be installed; "tofu init -backend=false"
does that without accessing the state. With DIR, validates the module in that
directory as the root module.`,
	New: with(func(f *validateFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		f.documentFlags.add(fs)
		fs.BoolVar(&f.NoTests, "no-tests", false, "Leave out test files.")
		fs.StringVar(&f.TestDirectory, "test-directory", "tests", "Look for test files in this `path` too.")
	}, runValidate),
}

type validateFlags struct {
	viewFlags
	varFlags
	documentFlags
	NoTests       bool
	TestDirectory string
}

func runValidate(ctx context.Context, app *App, f *validateFlags, args []string) error {
	switch len(args) {
	case 0:
	case 1:
		app.RootDir = args[0]
	default:
		return badUsage("Too many command line arguments", "Expected at most one argument, the directory of a module.")
	}
	into, err := f.documentFlags.open()
	if err != nil {
		return err
	}
	app.Input = false
	diags := app.validate(ctx, f)
	if into != nil {
		if err := errors.Join(ui.WriteValidation(into, diags, app.Source), into.Close()); err != nil {
			diags = diags.AppendError(fmt.Errorf("-json-into: %w", err))
		}
	}
	if f.Document {
		if err := ui.WriteValidation(app.Out, diags, app.Source); err != nil {
			return err
		}
	} else {
		app.Printer.Diagnostics(diags)
		switch {
		case diags.HasErrors():
		case len(diags) > 0:
			app.Success("Success! The configuration is valid; see the warnings above.")
		default:
			app.Success("Success! The configuration is valid.")
		}
	}
	if diags.HasErrors() {
		return exitStatus(1)
	}
	return nil
}

func (a *App) validate(ctx context.Context, f *validateFlags) tfdiags.Diagnostics {
	cfg, diags := a.LoadConfig(ctx, f.Variables)
	if diags.HasErrors() {
		if !f.NoTests && a.Parser.IsModuleDir(a.RootDir) {
			_, err := a.Parser.TestFiles(a.RootDir, f.TestDirectory, diags.Add)
			diags = diags.AppendError(err)
		}
		return diags
	}
	reqs, subjects := session.Requirements(cfg.Config, nil), []moduletest.Subject{{Dir: a.RootDir, Config: cfg.Config}}
	if !f.NoTests {
		resolve, err := getmodules.Installed(a.ModulesDir())
		diags = diags.AppendError(err)
		if err == nil {
			suite, err := a.loadTests(ctx, cfg, f.TestDirectory, resolve, diags.Add)
			if diags = diags.AppendError(err); err == nil {
				diags = diags.AppendError(suite.Check())
				session.AddTestRequirements(reqs, suite)
				subjects = suite.Subjects()
			}
		}
	}
	if diags.HasErrors() {
		return diags
	}
	// The lock file is not part of the configuration, so validate does not check it against the
	// constraints.
	running, more := a.OpenProviders(reqs.InAnyVersion())
	diags = diags.Append(more...)
	if more.HasErrors() {
		return diags
	}
	defer running.Close(a.Session)
	workspace, err := a.Workspace()
	if err != nil {
		return diags.AppendError(err)
	}
	env := a.Environment(running, workspace)
	env.Observe, env.Warn = nil, diags.Add
	for _, subject := range subjects {
		env.RootModule = subject.Dir
		diags = diags.AppendError(engine.Validate(terminal.UntilAbort(ctx), subject.Config, env))
	}
	return diags
}
