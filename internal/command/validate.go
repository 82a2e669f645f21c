package command

import (
	"context"
	"errors"
	"fmt"

	"tofu/internal/configs"
	"tofu/internal/depsfile/install"
	"tofu/internal/engine"
	"tofu/internal/getmodules"
	"tofu/internal/lint"
	"tofu/internal/moduletest"
	"tofu/internal/query"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
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
	err = f.validate(ctx, app.Session)
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

// validate checks the configuration of a root module, and its tests.
func (f *validateFlags) validate(ctx context.Context, s *session.Session) error {
	resolve, err := getmodules.InstalledOrLocal(s.ModulesDir(), s.Base)
	if err != nil {
		return err
	}
	if f.Query {
		s.Part = configs.Queries
	}
	given, err := s.Collect(f.Variables)
	var cfg *session.Config
	if err == nil {
		cfg, err = s.Load(ctx, given, resolve)
	}
	if err != nil {
		if f.NoTests || !s.Parser.IsModuleDir(s.RootDir) {
			return err
		}
		_, testErr := s.Parser.TestFiles(s.RootDir, f.TestDirectory, s.Warnings.Add)
		return tfdiags.Join(err, testErr)
	}
	s.Warnings.Add(lint.Check(cfg.Config, s.Parser, f.Lint)...)
	reqs, subjects := session.Requirements(cfg.Config, nil), []moduletest.Subject{{Dir: s.RootDir, Config: cfg.Config}}
	if !f.NoTests {
		suite, err := loadTests(ctx, s, cfg, f.TestDirectory, resolve)
		if err != nil {
			return err
		}
		if err := suite.Check(); err != nil {
			return err
		}
		session.AddTestRequirements(reqs, suite)
		subjects = suite.Subjects()
	}
	// Any locked version is accepted: the lock file is not part of the configuration, so
	// validate does not check it against the constraints.
	running, err := s.OpenProviders(reqs.InAnyVersion())
	if err != nil {
		return install.ForValidate(err)
	}
	defer running.Close()
	workspace, err := s.Workspace()
	if err != nil {
		return err
	}
	env := s.Environment(running, workspace)
	env.Observe = nil
	var errs tfdiags.Diagnostics
	for _, subject := range subjects {
		env.RootModule = subject.Dir
		validate := engine.Validate
		if f.Query && subject.Config == cfg.Config {
			validate = query.Validate
		}
		errs = errs.AppendError(validate(terminal.UntilAbort(ctx), subject.Config, env))
	}
	return errs.Err()
}
