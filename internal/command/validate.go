package command

import (
	"context"
	"errors"
	"fmt"

	"tofu/internal/lint"
	"tofu/internal/session"
	"tofu/internal/ui"
)

var cmdValidate = &Command{
	Name: "validate", Main: true, Args: "[DIR]", Short: "Check the configuration",
	Long: `
Validates the configuration: syntax, names, types, and the rules of providers.
It reads neither the state nor remote objects. Variables need values only if
the sources or versions of modules depend on them. Providers, and modules that
are not local, must be installed; "tofu init -backend=false" does that without
accessing the state.
With DIR, validates the module in that directory as the root module.`,
	New: with(func(f *validateFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		f.documentFlags.add(fs)
		fs.BoolVar(&f.NoTests, "no-tests", false, "Leave out test files.")
		addLint(fs, &f.Lint)
		fs.BoolVar(&f.Query, "query", false, "Validate query files (*.tfquery.hcl) too.")
		fs.StringVar(&f.TestDirectory, "test-directory", "tests", "Look for test files in this `path` too.")
	}, runValidate),
}

type validateFlags struct {
	viewFlags
	varFlags
	documentFlags
	NoTests       bool
	Lint          *lint.Selection
	Query         bool
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
	err = app.Validate(ctx, f.options())
	diags := app.Warnings.Take().AppendError(err)
	if into != nil {
		if intoErr := errors.Join(ui.WriteValidation(into, diags, app.Source), into.Close()); intoErr != nil {
			err = fmt.Errorf("-json-into: %w", intoErr)
			diags = diags.AppendError(err)
		}
	}
	if f.Document {
		if err := ui.WriteValidation(app.Out, diags, app.Source); err != nil {
			return err
		}
	} else {
		app.Printer.Diagnostics(diags)
		switch {
		case err != nil:
		case len(diags) > 0:
			app.Success("Success! The configuration is valid; see the warnings above.")
		default:
			app.Success("Success! The configuration is valid.")
		}
	}
	if err != nil {
		return exitStatus(1)
	}
	return nil
}

func (f *validateFlags) options() session.ValidateOptions {
	return session.ValidateOptions{Variables: f.Variables, Lint: f.Lint, NoTests: f.NoTests, Query: f.Query,
		Tests: f.TestDirectory}
}
