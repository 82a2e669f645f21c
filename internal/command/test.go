package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/google/uuid"

	"tofu/internal/atomicfile"
	"tofu/internal/configs"
	"tofu/internal/configs/inputs"
	"tofu/internal/depsfile"
	"tofu/internal/getmodules"
	"tofu/internal/moduletest"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/progress"
)

var cmdTest = &Command{
	Name: "test", Short: "Run the tests of a module",
	Long: `
Runs the test files (*.tftest.hcl, *.tftest.json, *.tofutest.hcl and
*.tofutest.json) in the current directory and in the test directory. Each run
of a file plans or applies the configuration and checks its assertions. All
objects are destroyed at the end of the file. The state of the working directory
is neither read nor written.`,
	New: with(func(f *testFlags, fs *options) {
		f.addJSON(fs)
		f.addProgress(fs)
		f.varFlags.add(fs)
		fs.Var((*list)(&f.Filter), "filter", "Run only this test `file`. May be repeated.")
		fs.StringVar(&f.TestDirectory, "test-directory", configs.DefaultTestDirectory,
			"Look for test files in this `path` too.")
		fs.BoolVar(&f.Verbose, "verbose", false, "Print the plan or the state of each run.")
	}, func(ctx context.Context, app *App, f *testFlags, args []string) error {
		return runTest(ctx, app, f) // arguments are ignored, because some scripts pass them
	}),
}

type testFlags struct {
	viewFlags
	varFlags
	Filter        []string
	TestDirectory string
	Verbose       bool
}

func runTest(ctx context.Context, app *App, f *testFlags) error {
	app.Input = false
	given, err := inputs.Collect(app.Parser, inputs.Options{Environ: app.Environ, Dir: app.RootDir,
		TestDir: f.TestDirectory, Files: app.Preset.VarFiles, Values: app.Preset.Variables, Flags: f.Vars})
	if err != nil {
		return err
	}
	resolve, err := getmodules.Installed(app.ModulesDir(), app.Base)
	if err != nil {
		return err
	}
	cfg, err := app.Load(ctx, given, resolve)
	if err != nil {
		return err
	}
	suite, err := loadTests(ctx, app.Session, cfg, f.TestDirectory, resolve)
	if err != nil {
		return err
	}
	filterTests(suite, f.Filter, app.Warnings.Add)
	reqs := make(depsfile.Requirements)
	if len(suite.Files) > 0 { // without files there is nothing to run
		// If a provider of a test file is missing, only the runs of the file fail.
		for _, c := range suite.Configs() {
			session.AddRequirements(reqs, c)
		}
	}
	running, err := app.OpenProviders(reqs)
	if err != nil {
		return err
	}
	defer running.Close()
	workspace, err := app.Workspace()
	if err != nil {
		return err
	}
	app.Printer.Diagnostics(app.Warnings.Take())
	schemas := running.Schemas(terminal.UntilAbort(ctx), tfdiags.Drop)
	runner := &moduletest.Runner{
		Suite: suite, Env: *app.Environment(running, workspace), Variables: given, Defer: app.Defers(),
		Observe: func(e moduletest.Event) { app.reportTest(e, schemas, f.Verbose) },
		Keep:    app.keeper(cfg),
	}
	if !runner.Run(terminal.UntilAbort(ctx)) {
		return exitStatus(1)
	}
	return nil
}

// loadTests loads the test files of a configuration and the modules of their runs.
func loadTests(
	ctx context.Context, s *session.Session, cfg *session.Config, dir string, resolve configs.Resolver,
) (*moduletest.Suite, error) {
	workspace, err := s.Workspace()
	if err != nil {
		return nil, err
	}
	return moduletest.Load(ctx, cfg.Config, dir, &configs.LoadOptions{
		Parser: s.Parser, Variables: cfg.Given, Workspace: workspace, WorkDir: s.WorkDir, Resolve: resolve,
	}, s.Warnings.Add)
}

// loadWithTests loads a configuration and the modules of its tests.
func loadWithTests(
	ctx context.Context, s *session.Session, given map[string]configs.Given, dir string, resolve configs.Resolver,
) (*session.Config, error) {
	cfg, err := s.Load(ctx, given, resolve)
	if err != nil {
		return nil, err
	}
	cfg.Tests, err = loadTests(ctx, s, cfg, dir, resolve)
	if err != nil {
		return nil, err
	}
	return cfg, nil
}

// filterTests keeps only the selected files. It warns about names that match no file.
func filterTests(suite *moduletest.Suite, names []string, warn tfdiags.Sink) {
	if len(names) == 0 {
		return
	}
	unknown := suite.Only(names)
	if len(suite.Files) == 0 {
		warn(tfdiags.Warningf("No tests were found",
			"The option -filter names no test file. Specify the paths of files as test results show them, "+
				"relative to the current directory."))
		return
	}
	for _, name := range unknown {
		warn(tfdiags.Warningf("No such test file",
			"The option -filter=%s names no test file. Specify the file's path as test results show it, relative "+
				"to the current directory.", name))
	}
}

// reportTest prints a test event.
func (a *App) reportTest(e moduletest.Event, schemas ui.Schemas, verbose bool) {
	var m ui.Message
	switch e := e.(type) {
	case moduletest.Started:
		a.Live.Begin(runName(e.Path, e.Run), "running")
		return
	case moduletest.Finished:
		a.Live.End(runName(e.Path, e.Run))
		return
	case moduletest.Begun:
		total := 0
		for _, runs := range e.Runs {
			total += len(runs)
		}
		a.Live.Phase(progress.Testing, total)
		m = ui.TestAbstract{Runs: e.Runs}
	case moduletest.FileDone:
		m = ui.TestFile{Path: e.Path, Status: ui.TestStatus(e.Status.String())}
	case moduletest.RunDone:
		run := ui.TestRun{Path: e.Path, Run: e.Run, Status: ui.TestStatus(e.Status.String()),
			Diagnostics: e.Diagnostics}
		if verbose && e.Plan != nil {
			run.Plan = &ui.PlanView{Plan: e.Plan, Config: e.Config, Schemas: schemas}
		}
		if verbose && e.State != nil {
			run.State = &ui.StateView{State: e.State, Schemas: schemas}
		}
		m = run
	case moduletest.Cleaned:
		m = ui.TestCleanup{Path: e.Path, Run: e.Run, Diagnostics: e.Diagnostics, Left: left(e.Left),
			StateFile: e.StateFile}
	case moduletest.Abandoned:
		m = ui.TestInterrupt{Path: e.Path, Run: e.Run, Left: left(e.Left)}
	case moduletest.Ended:
		m = ui.TestSummary{Status: ui.TestStatus(e.Status.String()), Passed: e.Passed, Failed: e.Failed,
			Errored: e.Errored, Skipped: e.Skipped}
	}
	a.Printer.Message(m)
}

func runName(path, run string) string { return path + ", run " + strconv.Quote(run) }

func left(list []moduletest.Object) []ui.TestLeft {
	out := make([]ui.TestLeft, len(list))
	for i, o := range list {
		out[i] = ui.TestLeft{Instance: o.Instance, DeposedKey: o.Deposed}
	}
	return out
}

// keeper returns a function that saves states of objects that tests could not destroy. The
// first state is saved to errored_test.tfstate, and the others to files beside it. A file left
// by an earlier command is renamed.
func (a *App) keeper(cfg *session.Config) func(*states.State) (string, error) {
	count := 0
	return func(st *states.State) (string, error) {
		count++
		name := "errored_test.tfstate"
		if count > 1 {
			name = fmt.Sprintf("errored_test.%d.tfstate", count)
		}
		if _, err := os.Lstat(name); err == nil {
			if err := os.Rename(name, session.TimedBackupName(name)); err != nil {
				return "", fmt.Errorf("keeping the earlier %s: %w", name, err)
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("looking for an earlier %s: %w", name, err)
		}
		data, err := statefile.Encode(&statefile.File{Serial: 1, Lineage: uuid.NewString(), State: st},
			&statefile.Options{Indent: true})
		if err != nil {
			return "", err
		}
		codec, err := a.StateCodec(cfg)
		if err != nil {
			return "", err
		}
		if codec != nil {
			if data, err = codec.Encrypt(data); err != nil {
				return "", fmt.Errorf("encrypting the remaining state: %w", err)
			}
		}
		if err := atomicfile.WriteSynced(name, data, 0o600); err != nil {
			return "", fmt.Errorf("writing the remaining state: %w", err)
		}
		return name, nil
	}
}
