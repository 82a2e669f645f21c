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
	"tofu/internal/backend"
	"tofu/internal/configs"
	"tofu/internal/configs/inputs"
	"tofu/internal/depsfile"
	"tofu/internal/getmodules"
	"tofu/internal/moduletest"
	"tofu/internal/pace"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/suggest"
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
		fs.StringVar(&f.JUnit, "junit-xml", "", "Also write the results to `path`, in the JUnit format.")
		addLimits(fs, &f.Limits)
		fs.BoolVar(&f.Minimal, "minimal-refresh", false, "Let each run read only the objects that it would change, and those "+
			"whose values these changes read.")
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
	JUnit         string
	Limits        pace.Limits
	Minimal       bool
}

func runTest(ctx context.Context, app *App, f *testFlags) error {
	return (&testRun{session: app.Session, flags: f}).run(ctx)
}

// testRun is one run of the tests of a root module.
type testRun struct {
	session *session.Session
	flags   *testFlags

	given   map[string]configs.Given
	cfg     *session.Config
	suite   *moduletest.Suite
	schemas ui.Schemas  // for the plans and states that -verbose prints
	kept    int         // number of states saved by keep
	report  *testReport // nil without -junit-xml
}

func (t *testRun) run(ctx context.Context) error {
	s := t.session
	s.Input = false
	if err := t.load(ctx); err != nil {
		return err
	}
	filterTests(t.suite, t.flags.Filter, s.Warnings.Add)
	reqs := make(depsfile.Requirements)
	if len(t.suite.Files) > 0 { // without files there is nothing to run
		// If a provider of a test file is missing, only the runs of the file fail.
		for _, c := range t.suite.Configs() {
			session.AddRequirements(reqs, c)
		}
	}
	running, err := s.OpenProviders(reqs)
	if err != nil {
		return err
	}
	defer running.Close()
	workspace, err := s.Workspace()
	if err != nil {
		return err
	}
	s.Printer.Diagnostics(s.Warnings.Take())
	t.schemas = running.Schemas(terminal.UntilAbort(ctx), tfdiags.Drop)
	runner := &moduletest.Runner{
		Suite: t.suite, Env: *s.Environment(running, workspace), Variables: t.given, Defer: session.Defers(s.Env),
		Observe: t.show, Keep: t.keep,
		Open:    t.open,
		Minimal: t.flags.Minimal,
	}
	runner.Env.Slots = pace.New(t.flags.Limits.Over(s.CLI.Limits))
	runner.Workers = runner.Env.Slots.Changes()
	if t.flags.JUnit != "" {
		if err := writable(t.flags.JUnit); err != nil {
			return fmt.Errorf("-junit-xml: %w", err)
		}
		t.report = newTestReport(t.flags.JUnit, s.Source)
	}
	passed := runner.Run(terminal.UntilAbort(ctx))
	if err := t.report.write(); err != nil {
		return err
	}
	if !passed {
		return exitStatus(1)
	}
	return nil
}

// load loads the configuration and its tests.
func (t *testRun) load(ctx context.Context) (err error) {
	s := t.session
	t.given, err = inputs.Collect(s.Parser, inputs.Options{Environ: s.Environ, Dir: s.RootDir,
		TestDir: t.flags.TestDirectory, Files: s.Preset.VarFiles, Values: s.Preset.Variables, Flags: t.flags.Vars})
	if err != nil {
		return err
	}
	resolve, err := getmodules.Installed(s.ModulesDir(), s.Base)
	if err != nil {
		return err
	}
	files, _ := s.Parser.TestFiles(s.RootDir, t.flags.TestDirectory, tfdiags.Drop) // LoadTests reports the error
	t.cfg, err = s.LoadUnset(ctx, moduletest.Assigned(t.given, files), resolve)
	if err != nil {
		return err
	}
	t.cfg.Given = t.given
	t.suite, err = s.LoadTests(ctx, t.cfg, t.flags.TestDirectory, resolve)
	return err
}

// loadWithTests loads a configuration and the modules of its tests.
func loadWithTests(
	ctx context.Context, s *session.Session, given map[string]configs.Given, dir string, resolve configs.Resolver,
) (*session.Config, error) {
	cfg, err := s.Load(ctx, given, resolve)
	if err != nil {
		return nil, err
	}
	cfg.Tests, err = s.LoadTests(ctx, cfg, dir, resolve)
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
	all := make([]string, len(suite.Files))
	for i, f := range suite.Files {
		all[i] = f.Name
	}
	unknown := suite.Only(names)
	if len(suite.Files) == 0 {
		warn(tfdiags.Warningf("No tests were found",
			"The option -filter names no test file. Specify the paths of files as test results show them, "+
				"relative to the current directory.%s", suggest.DidYouMean(unknown[0], all)))
		return
	}
	for _, name := range unknown {
		warn(tfdiags.Warningf("No such test file",
			"The option -filter=%s names no test file. Specify the file's path as test results show it, relative "+
				"to the current directory.%s", name, suggest.DidYouMean(name, all)))
	}
}

// show prints a test event, and adds it to the report.
func (t *testRun) show(e moduletest.Event) {
	t.report.observe(e)
	var m ui.Message
	switch e := e.(type) {
	case moduletest.Started:
		t.session.Live.Begin(runName(e.Path, e.Run), "running")
		return
	case moduletest.Finished:
		t.session.Live.End(runName(e.Path, e.Run))
		return
	case moduletest.Begun:
		total := 0
		for _, runs := range e.Runs {
			total += len(runs)
		}
		t.session.Live.Phase(progress.Testing, total)
		m = ui.TestAbstract{Runs: e.Runs}
	case moduletest.FileDone:
		m = ui.TestFile{Path: e.Path, Status: ui.TestStatus(e.Status.String())}
	case moduletest.RunDone:
		run := ui.TestRun{Path: e.Path, Run: e.Run, Status: ui.TestStatus(e.Status.String()),
			Diagnostics: e.Diagnostics}
		if t.flags.Verbose && e.Plan != nil {
			run.Plan = &ui.PlanView{Plan: e.Plan, Config: e.Config, Schemas: t.schemas}
		}
		if t.flags.Verbose && e.State != nil {
			run.State = &ui.StateView{State: e.State, Schemas: t.schemas}
		}
		if t.flags.Verbose {
			run.Uninvoked = e.Uninvoked
		}
		m = run
	case moduletest.Cleaned:
		m = ui.TestCleanup{Path: e.Path, Run: e.Run, Diagnostics: e.Diagnostics, Left: left(e.Left),
			StateFile: e.StateFile}
	case moduletest.Skipped:
		m = ui.TestKept{Path: e.Path, Run: e.Run, Left: left(e.Left), StateFile: e.StateFile, Diagnostics: e.Diagnostics}
	case moduletest.Abandoned:
		m = ui.TestInterrupt{Path: e.Path, Run: e.Run, Left: left(e.Left)}
	case moduletest.Ended:
		m = ui.TestSummary{Status: ui.TestStatus(e.Status.String()), Passed: e.Passed, Failed: e.Failed,
			Errored: e.Errored, Skipped: e.Skipped}
	}
	t.session.Printer.Message(m)
}

func runName(path, run string) string { return path + ", run " + strconv.Quote(run) }

func left(list []moduletest.Object) []ui.TestLeft {
	out := make([]ui.TestLeft, len(list))
	for i, o := range list {
		out[i] = ui.TestLeft{Instance: o.Instance, DeposedKey: o.Deposed}
	}
	return out
}

// open opens the state of a run with a backend block. Settings of the block may refer to variables of the
// root module; variables of tests are not meant for them.
func (t *testRun) open(ctx context.Context, block *configs.Backend) (moduletest.Stored, error) {
	s := t.session
	root, err := s.LoadRootModuleWith(ctx, t.given)
	if err != nil {
		return nil, err
	}
	settings, err := s.DecodeBlock(ctx, root, block)
	if err != nil {
		return nil, err
	}
	req := session.StateRequest{Operation: "OperationTypeTest", Lock: session.LockOptions{Lock: true}}
	p, err := s.OpenSettings(ctx, root, settings, backend.DefaultWorkspace, req)
	if err != nil {
		return nil, tfdiags.MapError(err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
			return diags.InConfigBody(block.Config, "")
		})
	}
	open, err := s.ReadState(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return open, nil
}

// keep saves the state of objects that tests did not destroy, and returns the name of the file.
// The first state is saved to errored_test.tfstate, and the others to files beside it. A file left
// by an earlier command is renamed.
func (t *testRun) keep(st *states.State) (string, error) {
	t.kept++
	name := "errored_test.tfstate"
	if t.kept > 1 {
		name = fmt.Sprintf("errored_test.%d.tfstate", t.kept)
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
	// Variables of tests are not meant for the encryption.
	root, err := t.session.LoadRootModuleWith(context.Background(), t.given)
	if err != nil {
		return "", err
	}
	codec, err := t.session.Encryption.StateCodec(root)
	if err != nil {
		return "", err
	}
	if codec != nil {
		data, err = codec.Encrypt(data)
		if err != nil {
			return "", fmt.Errorf("encrypting the remaining state: %w", err)
		}
	}
	if err := atomicfile.WriteSynced(name, data, 0o600); err != nil {
		return "", fmt.Errorf("writing the remaining state: %w", err)
	}
	return name, nil
}
