package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tofu/internal/encryption"
	"tofu/internal/engine"
	"tofu/internal/fleet"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/progress"
	"tofu/internal/workers"
)

// cmdWorkerTask is the process of tasks, which a worker starts.
var cmdWorkerTask = &Command{
	Name: "task", Hidden: true, Short: "Work on root modules; started by \"tofu worker\"", Outer: true,
	New: func(*options) runFunc {
		return func(_ context.Context, app *App, args []string) error {
			if err := noArguments(args); err != nil {
				return err
			}
			app.Interrupts.OnInterrupt(func(int) {}, app.printFailure) // each task has its own
			defer app.ShareClients()()
			app.Clients.Most = taskConnections
			return workers.Serve(app.In, app.Out, workers.Exit, func(child *workers.Child) error {
				one := app.another()
				if err := one.setup(""); err != nil {
					return err
				}
				defer func() { _ = one.Logs.Close() }()
				work := &Command{Name: "task", New: func(*options) runFunc {
					return func(ctx context.Context, app *App, _ []string) error {
						return (&task{app: app, child: child, job: child.Job}).run(ctx)
					}
				}}
				if status := one.runCommand(work, []string{"worker", "task"}, nil, measureFlags{}); status != 0 {
					return exitStatus(status)
				}
				return nil
			})
		}
	},
}

// taskConnections is the most connections to a database of states that a process of a worker has: one for the run in a
// root module, and one that renews its lease.
const taskConnections = 2

// task is the work of a worker on one root module.
type task struct {
	app   *App
	child *workers.Child
	job   *workers.Job
	in    taskInput
	flags *fleetFlags
	opts  *engine.PlanOptions

	events *taskEvents
	target *encryption.Target // encrypts what is stored; nil for none
	unsure bool               // whether it isn't known how to encrypt
}

func (t *task) run(ctx context.Context) error {
	app := t.app
	if err := json.Unmarshal(t.job.Input, &t.in); err != nil {
		return err
	}
	if err := t.options(); err != nil {
		return err
	}
	app.Interrupts.OnInterrupt(func(int) {}, app.printFailure) // the caller says that there was an interrupt
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case <-t.child.Interrupt:
				app.Interrupts.Add()
			case <-ended:
				return
			}
		}
	}()
	t.events = &taskEvents{task: t}
	defer t.events.start()()
	app.Live = nil
	view := t.flags.viewFlags
	view.JSONInto = ""
	var err error
	if app.planView, err = view.planTextView(app.Env(planViewEnv), ""); err != nil {
		return err
	}
	app.Width, app.OutTerminal = t.job.About.Width, false
	app.setView(view)
	app.Out, app.Color = t.events, t.job.About.Color
	opts := app.viewOptions(app.Out)
	app.Printer = withDeprecation(ui.NewHuman(opts), view.Deprecation)
	if view.JSON {
		opts.Root = t.job.Root // only the printer of the caller prints the version
		app.Printer = ui.NewJSON(opts)
	}
	t.flags.shown, t.unsure = newRootsView(app, t.in.Of), true
	if err := t.work(ctx); err != nil {
		return t.end(&fleet.Result{Root: &roots.Root{Name: t.job.Root}, Err: err}, nil, nil, nil)
	}
	return nil
}

// options parses the options of the caller.
func (t *task) options() error {
	o := newOptions(t.job.Operation)
	var planned *planFlags
	switch t.job.Operation {
	case "plan":
		f := &rootsPlanFlags{}
		f.declare(o)
		t.flags, planned = &f.fleetFlags, &f.planFlags
	case "apply", "destroy":
		f := &rootsApplyFlags{}
		if f.declare(o); t.job.Operation == "destroy" {
			o, f = newOptions(t.job.Operation), &rootsApplyFlags{}
			f.declareDestroy(o)
		}
		t.flags, planned = &f.fleetFlags, &f.planFlags
	case "drift":
		f := &rootsDriftFlags{}
		f.declare(o)
		t.flags, planned = &f.fleetFlags, &f.planFlags
	default:
		return tfdiags.Errorf("Unknown operation", "This version of the program doesn't know the operation %q.",
			t.job.Operation)
	}
	if err := o.Parse(t.job.About.Args); err != nil {
		return err
	}
	if t.job.Begun || len(t.job.Reasons) > 0 { // the lock of the earlier try may need some time to expire
		t.flags.Timeout = max(t.flags.Timeout, lockOfDead)
	}
	var err error
	t.opts, err = planned.options()
	return err
}

// lockOfDead is the time that a try waits for the lock of an earlier one that was killed.
const lockOfDead = 2 * time.Minute

// work processes the root module and stores what comes of it.
func (t *task) work(ctx context.Context) error {
	app := t.app
	e, r, err := t.estate(ctx)
	if err != nil {
		return err
	}
	given := make(map[string][]byte)
	for name, data := range t.job.Outputs {
		if given[name], err = t.unseal(ctx, name, data); err != nil {
			return err
		}
	}
	shown := t.flags.shown
	run := t.flags.run(app, e, []*roots.Root{r}, t.job.About.Dirs)
	t.flags.shown = shown // that of a run over all root modules
	var text []byte
	run.Show = func(_ *roots.Root, _ *fleet.Result, shown []byte) { text = bytes.TrimSpace(shown) }
	run.Still, run.Budget = nil, t.child.Reserve
	printer := run.Printer
	run.Printer = func(r *roots.Root, out io.Writer) ui.Printer { return &fencedPrinter{printer(r, out), t} }
	part := &fleet.Part{Run: run, Given: given, InRun: func(name string) bool {
		return slices.Contains(t.in.InRun, name)
	}}
	do, what := t.plan, "Planning"
	switch {
	case t.job.Operation == "drift":
		do, what = t.drift, "Reading"
	case t.job.Phase%2 == 0:
		do, what = t.apply, "Applying"
	}
	t.events.add(taskEvent{Begins: what})
	result, plan, outputs, err := do(ctx, part)
	if err != nil {
		return err
	}
	return t.end(result, text, plan, outputs)
}

// estate loads the root module, and installs what it needs.
func (t *task) estate(ctx context.Context) (*roots.Estate, *roots.Root, error) {
	app := t.app
	load := func() (*roots.Estate, error) {
		e, err := roots.LoadPart(ctx, t.job.About.Dirs, &roots.Part{Read: t.in.Read, Others: t.in.Others,
			Variables: t.job.About.Variables},
			func(m session.RootModule) *session.Session { return app.Session.At(m, app.quiet(io.Discard)) })
		if e == nil {
			return nil, err
		}
		if e.ByName(t.job.Root) == nil {
			return nil, tfdiags.Errorf("The root module is missing", "The configuration for workers has no root module %q.",
				t.job.Root)
		}
		return e, nil // the errors of root modules are part of their results
	}
	e, err := load()
	if err != nil {
		return nil, nil, err
	}
	s := app.Session.At(e.ByName(t.job.Root).Module(), app.quiet(io.Discard))
	if config, err := s.FileEncryption(ctx, t.flags.Variables); err == nil {
		t.target, t.unsure = config.Plan(), false
	}
	installed := false
	for _, name := range t.in.Read {
		r := e.ByName(name)
		if r == nil || r.Err != nil {
			continue
		}
		did, err := t.install(ctx, r)
		if err != nil {
			return nil, nil, err
		}
		installed = installed || did
	}
	if installed {
		e, err = load()
	}
	if err != nil {
		return nil, nil, err
	}
	return e, e.ByName(t.job.Root), nil
}

// install initializes a root module unless an earlier task has done that in this directory.
func (t *task) install(ctx context.Context, r *roots.Root) (bool, error) {
	s := t.app.Session.At(r.Module(), t.app.quiet(io.Discard))
	ready := filepath.Join(s.DataDir, "ready-for-tasks")
	if _, err := os.Stat(ready); err == nil {
		return false, nil
	}
	var text bytes.Buffer
	sub := t.app.at(r, &text, nil)
	defer sub.Close()
	o, f := newOptions("init"), &initFlags{}
	f.declare(o)
	f.Variables = t.flags.Variables
	f.LockOptions = t.flags.LockOptions
	if _, err := os.Stat(s.LockFile()); err == nil {
		f.LockFile = "readonly"
	}
	if err := (&initRun{app: sub, flags: f}).run(ctx); err != nil {
		return false, tfdiags.MapError(err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
			return diags.Map(func(d *tfdiags.Diagnostic) {
				d.Detail += " (The worker " + t.job.Worker + " could not initialize " + r.Name + ".)"
			})
		})
	}
	return true, s.WriteDataFile("ready-for-tasks", nil, 0o600)
}

func (t *task) plan(ctx context.Context, part *fleet.Part) (result *fleet.Result, plan, outputs []byte, err error) {
	dir, err := os.MkdirTemp("", "tofu-task-")
	if err != nil {
		return nil, nil, nil, err
	}
	defer os.RemoveAll(dir)
	if err := t.moved(ctx, part.Run); err != nil {
		return nil, nil, nil, err
	}
	path := filepath.Join(dir, "plan")
	archive, err := fleet.Create(path, t.opts.Mode)
	if err != nil {
		return nil, nil, nil, err
	}
	if result, outputs, err = part.Plan(ctx, *t.opts, archive); err == nil {
		plan, err = os.ReadFile(path)
	}
	return result, plan, outputs, err
}

// moved makes a run plan from the state after the moves that come before it.
func (t *task) moved(ctx context.Context, run *fleet.Run) error {
	if len(t.in.Moved) == 0 {
		return nil
	}
	text, err := t.unseal(ctx, t.job.Root, t.in.Moved)
	if err != nil {
		return err
	}
	after, err := statefile.Parse(text)
	if err == nil {
		run.Moved = map[*roots.Root]*states.State{run.Selected[0]: after.State}
	}
	return err
}

// drift looks for what was changed outside. It writes no state, so it needs no permission of the worker.
func (t *task) drift(ctx context.Context, part *fleet.Part) (result *fleet.Result, plan, outputs []byte, err error) {
	part.Run.Printer = driftPrinter(t.app)
	return part.Run.Drift(ctx, *t.opts, t.flags.ShowSensitive)[0], nil, nil, nil
}

func (t *task) apply(ctx context.Context, part *fleet.Part) (result *fleet.Result, plan, outputs []byte, err error) {
	dir, err := os.MkdirTemp("", "tofu-task-")
	if err != nil {
		return nil, nil, nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "plan")
	if err := os.WriteFile(path, t.job.Plan, 0o600); err != nil {
		return nil, nil, nil, err
	}
	saved, err := fleet.Open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	defer saved.Close()
	if part.Run.Selected, err = saved.Select(part.Run.Estate); err != nil {
		return nil, nil, nil, err
	}
	rec := fleet.NewRecord(t.job.Root, t.job.Begun, func() error { return t.child.May(true) })
	result, outputs, err = part.Apply(ctx, engine.ApplyOptions{ShowSensitive: t.flags.ShowSensitive}, saved, rec)
	return result, nil, outputs, err
}

// end stores the result.
func (t *task) end(result *fleet.Result, text, plan, outputs []byte) error {
	shown, err := t.flags.shown.give(result.Root.Name, text)
	if err != nil {
		return err
	}
	if t.unsure { // details may contain values that may only be stored encrypted
		result.Err = tfdiags.MapError(result.Err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
			return diags.Map(func(d *tfdiags.Diagnostic) { d.Detail = "" })
		})
		shown = shownRoot{}
		if result.Drift != nil {
			result.Drift = nil
			result.Err = tfdiags.Join(result.Err, tfdiags.Errorf("The result can't be stored", "The encryption block of %s can't "+
				"be evaluated on the worker %s, so it isn't known how to encrypt what was read.", result.Root.Name, t.job.Worker))
		}
	}
	if shown.Result, err = result.Encode(); err != nil {
		return err
	}
	whole, err := json.Marshal(shown)
	if err != nil {
		return err
	}
	if whole, err = t.seal(whole); err == nil && outputs != nil {
		outputs, err = t.seal(outputs)
	}
	if err != nil {
		return err
	}
	o := workers.Outcome{Skipped: result.Skipped, Why: result.Why, Because: result.Because, Failed: result.Err != nil,
		Left: result.Left(), Applied: result.Applied != nil}
	if p := result.Plan; p != nil {
		o.Changes, o.Records, o.Waits = p.Changes, p.Records, len(p.Waits) > 0
	}
	outcome, err := json.Marshal(o)
	if err != nil {
		return err
	}
	event, err := t.events.take()
	if err != nil {
		return err
	}
	t.child.End(outcome, whole, plan, outputs, event)
	return nil
}

// seal encrypts what is stored in the way in which the root module's plans are.
func (t *task) seal(data []byte) ([]byte, error) {
	if !t.target.Encrypts() {
		return data, nil
	}
	return t.target.Encrypt(data)
}

// unseal decrypts the outputs of another root module.
func (t *task) unseal(ctx context.Context, root string, data []byte) ([]byte, error) {
	if !encryption.IsEncrypted(data) {
		return data, nil
	}
	fail := func(err error) error {
		return tfdiags.Errorf("Outputs can't be decrypted", "The outputs of %s, which %s needs, are encrypted as the plans of "+
			"%[1]s are. %[2]s must be able to decrypt them with its own encryption block for plans, for example as a fallback: %[3]s",
			root, t.job.Root, tfdiags.Sentence(err))
	}
	if t.target == nil {
		return nil, fail(errors.New("it has none"))
	}
	plain, _, err := t.target.Decrypt(ctx, data)
	if err != nil {
		return nil, fail(err)
	}
	return plain, nil
}

// fencedPrinter asks before each change whether the worker still has its lease.
type fencedPrinter struct {
	ui.Printer
	task *task
}

// Event implements ui.Printer.
func (p *fencedPrinter) Event(e engine.Event) {
	if start, ok := e.(engine.ApplyStart); ok && start.Action != plans.Read {
		if err := p.task.child.May(false); err != nil {
			p.task.app.Interrupts.Fail(err)
		}
	}
	if live := progress.Store(e); live != nil && !p.task.app.view.JSON {
		p.task.events.add(taskEvent{Live: live})
	}
	p.Printer.Event(e)
}

// taskEvents collects events, and sends them a few times per second.
type taskEvents struct {
	task *task

	mu   sync.Mutex
	list []taskEvent
}

// eventInterval is the time between two messages with events.
const eventInterval = 200 * time.Millisecond

// start sends events until the returned function is called.
func (e *taskEvents) start() (end func()) {
	ticks, ended := time.NewTicker(eventInterval), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticks.C:
				e.flush()
			case <-ended:
				return
			}
		}
	}()
	return func() {
		ticks.Stop()
		close(ended)
	}
}

func (e *taskEvents) add(one taskEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, one)
}

// Write implements io.Writer: what is printed at once.
func (e *taskEvents) Write(p []byte) (int, error) {
	e.add(taskEvent{Out: bytes.Clone(p)})
	return len(p), nil
}

// flush sends the collected events.
func (e *taskEvents) flush() {
	text, err := e.take()
	if err == nil && text != nil {
		err = e.task.child.Emit(text)
	}
	if err != nil {
		e.task.app.Logs.Core.Warn("sending events to the worker", "error", err)
	}
}

// take returns the collected events as they are stored; nil if there are none.
func (e *taskEvents) take() ([]byte, error) {
	e.mu.Lock()
	list := e.list
	if !e.task.unsure {
		e.list = nil
	}
	e.mu.Unlock()
	if len(list) == 0 || e.task.unsure {
		return nil, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return e.task.seal(text)
}
