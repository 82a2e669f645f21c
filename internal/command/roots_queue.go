package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tofu/internal/encryption"
	"tofu/internal/fleet"
	"tofu/internal/parallel"
	"tofu/internal/plans"
	"tofu/internal/rootmoves"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states/statefile"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/workers"
)

// queueEnv is the environment variable with the address of the queue. The option -queue takes
// precedence.
const queueEnv = "TOFU_QUEUE"

// queueFlags are the options of commands that can work on root modules through a queue.
type queueFlags struct {
	addressFlags
	Detach   bool
	Priority int
	line     *options
}

// addressFlags have the address of a queue.
type addressFlags struct{ Queue string }

func (f *addressFlags) addAddress(fs *options, usage string) {
	fs.StringVar(&f.Queue, "queue", "", usage)
}

// address returns the address of the queue, or "" for none.
func (f *addressFlags) address(app *App) string { return cmp.Or(f.Queue, app.Env(queueEnv)) }

// open connects to the queue.
func (f *addressFlags) open(ctx context.Context, app *App) (*workers.Queue, error) {
	address := f.address(app)
	if address == "" {
		return nil, badUsage("No queue", "The option -queue or the variable %s must have the address of the queue, such as "+
			"postgres://USER@HOST/DATABASE.", queueEnv)
	}
	return workers.Open(ctx, address)
}

const defaultPriority = 2

func (f *queueFlags) addQueue(fs *options) {
	f.line, f.Priority = fs, defaultPriority
	f.addAddress(fs, "Let workers process the root modules, through the queue in the PostgreSQL database with this "+
		"`address`.")
	fs.BoolVar(&f.Detach, "detach", false, "With -queue, end when the run is in the queue. See \"roots watch\".")
	fs.Func("priority", fmt.Sprintf("With -queue, the priority of the run: `n` from 1, which is first, to 4 (default %d).",
		f.Priority), func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 4 {
			return errors.New("must be a number from 1 to 4")
		}
		f.Priority = n
		return nil
	})
}

// callersOnly are options that concern only the process of the caller; the value says whether the
// next argument is their value.
var callersOnly = map[string]bool{"queue": true, "detach": false, "priority": true, "report": true, "out": true,
	"json-into": true, "detailed-exitcode": false, "auto-approve": false, "resume": true, "only": true, "skip": true,
	"tag": true, "with": true, "changed": true, "roots": true, "progress": true, "profile": true, "timings": false}

// incompatible are options that have no effect together with -queue or -detach, with the reasons.
var incompatible = []struct{ name, with, why string }{
	{"roots", "queue", "The option -jobs of \"tofu worker\" says how many root modules are processed at the same time."},
	{"report", "detach", "The command ends before there are results."},
	{"out", "detach", "The command ends before there are plans."},
	{"detailed-exitcode", "detach", "The command ends before there are plans."},
}

// check returns an error if the command line has options that have no effect with a queue.
func (f *queueFlags) check() error {
	for _, o := range incompatible {
		if f.line.given(o.name) && (f.Detach || o.with == "queue") {
			return badUsage("Incompatible options", "-%s can't be used with -%s. %s", o.name, o.with, o.why)
		}
	}
	return nil
}

// passedOn returns the options of the command line that the processes of workers need.
func (f *queueFlags) passedOn() (out []string) {
	line := f.line.line[:len(f.line.line)-f.line.NArg()]
	for i := 0; i < len(line); i++ {
		name, _, hasValue := strings.Cut(strings.TrimLeft(line[i], "-"), "=")
		takes, own := callersOnly[name]
		switch {
		case !own:
			out = append(out, line[i])
		case takes && !hasValue:
			i++
		}
	}
	return out
}

// queued is a run over workers, as its caller or one who watches it sees it.
type queued struct {
	app      *App
	flags    *fleetFlags
	mode     plans.Mode
	out      string           // path for the plans; "" for none
	detailed bool             // whether changes have an exit status
	apply    *rootsApply      // asks for approval; nil for a plan
	saved    *fleet.Saved     // plans to apply; nil to plan first
	drift    *rootsDriftFlags // shows what was changed outside; nil for other operations

	moved *rootmoves.Outcome // what a plan moves before; nil for other operations

	queue   *workers.Queue
	run     *workers.Run
	unread  map[string]error // why root modules can't be read, by name
	hidden  []string         // names of root modules whose stored results or output can't be read
	targets map[string]*target
	modules map[string]session.RootModule // by name; nil until they are needed
}

// target is the encryption of the plans of a root module.
type target struct {
	*encryption.Target
	err error
}

// taskInput is the input of a task.
type taskInput struct {
	Read   []string        `json:"read"`             // names of the root modules in the archive
	InRun  []string        `json:"in_run,omitempty"` // names of the root modules of the run that it needs
	Of     int             `json:"of"`               // number of root modules in the run
	Others []roots.Summary `json:"others,omitempty"`
	// Moved is the state of the root module after moves that come before the plan. It is encrypted like the plan.
	Moved []byte `json:"moved,omitempty"`
}

// start enqueues a run and follows it.
func (q *queued) start(
	ctx context.Context, operation string, e *roots.Estate, selected []*roots.Root, dirs []string, auto bool,
) (err error) {
	if err := q.flags.check(); err != nil {
		return err
	}
	if q.apply == nil && q.drift == nil {
		if q.moved, err = q.flags.moves(q.app, e, selected, dirs).preview(ctx); err != nil {
			return err
		}
	}
	if q.queue, err = q.flags.open(ctx, q.app); err != nil {
		return err
	}
	defer q.queue.Close()
	q.app.Live.Phase("Enqueuing the root modules", 0)
	q.run = &workers.Run{ID: workers.NewID(), Operation: operation, Phase: 1, Auto: auto, Priority: q.flags.Priority,
		Who: who(), Trace: q.app.Timings.Parent(), Limits: e.LabelLimits}
	if q.saved != nil {
		q.run.Phase = 2
	}
	if err := q.enqueue(ctx, e, selected, dirs); err != nil {
		return err
	}
	q.app.Live.Phase("", 0)
	q.app.Note("Run %s has %s in the queue. To come back to it: tofu roots watch %[1]s", q.run.ID,
		ui.Count(len(q.run.Tasks), "root module"))
	if q.flags.Detach {
		if q.app.view.JSON || q.drift != nil && q.drift.Document {
			return json.NewEncoder(q.app.Out).Encode(map[string]string{"type": "run", "run": q.run.ID})
		}
		return nil
	}
	return q.follow(ctx, true)
}

// who returns the user and the host, as locks have them.
func who() string {
	name := "?"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	return name + "@" + host
}

// enqueue stores the configuration and the run.
func (q *queued) enqueue(ctx context.Context, e *roots.Estate, selected []*roots.Root, dirs []string) error {
	list, needs, uses := (&fleet.Run{Estate: e, Selected: selected}).Order(q.mode == plans.Destroy)
	for _, r := range list {
		if path, ok := r.State.File(); ok {
			return tfdiags.Errorf("Workers don't reach a local state", "The state of %s is the file %s on this machine. Workers "+
				"would begin with an empty state. Give %[1]s a backend that all workers reach.", r.Name, path)
		}
	}
	archives, files, top, err := q.archives(ctx, e, list)
	if err != nil {
		return err
	}
	dir, err := filepath.Rel(top, roots.Absolute("."))
	if err != nil {
		return err
	}
	q.run.About = workers.About{Args: q.flags.passedOn(), Env: variablesOf(q.app.Environ), Dirs: orHere(dirs),
		Dir: filepath.ToSlash(dir), Variables: e.Variables(), Width: q.app.Width,
		Color: q.app.Color, JSON: q.app.view.JSON}
	q.unread = make(map[string]error)
	planned := make(map[string]*fleet.Planned)
	if q.saved != nil {
		for _, p := range q.saved.Roots {
			planned[p.Name] = p
		}
	}
	inRun := make(map[*roots.Root]bool, len(list))
	for _, r := range list {
		inRun[r] = true
	}
	for i, r := range list {
		q.unread[r.Name] = r.Err
		q.run.About.Roots = append(q.run.About.Roots, r.Name)
		q.run.About.RootDirs = append(q.run.About.RootDirs, filepath.ToSlash(r.Dir))
		in := taskInput{Read: []string{r.Name}, Of: len(list)}
		for _, other := range files[i] {
			in.Read = append(in.Read, other.Name)
		}
		for _, other := range e.Needs(r) {
			in.Others = append(in.Others, other.Summary())
			if inRun[other] {
				in.InRun = append(in.InRun, other.Name)
			}
		}
		if in.Moved, err = q.afterMoves(ctx, r); err != nil {
			return err
		}
		t := &workers.Task{N: i, Root: r.Name, Labels: r.Labels(), Needs: needs[i], Uses: uses[i], Archive: archives[i]}
		if t.Input, err = json.Marshal(in); err != nil {
			return err
		}
		if p := planned[r.Name]; p != nil {
			if t.Plan, err = q.saved.Extract(p); err != nil {
				return err
			}
		}
		q.run.Tasks = append(q.run.Tasks, t)
	}
	enqueue := q.queue.Enqueue(q.run)
	return q.patiently(ctx, "The run is not enqueued yet", func() error { return enqueue(ctx) })
}

// afterMoves returns the state of a root module after the moves that come before the plan; nil without moves.
func (q *queued) afterMoves(ctx context.Context, r *roots.Root) ([]byte, error) {
	if q.moved == nil || q.moved.States[r] == nil {
		return nil, nil
	}
	text, err := statefile.Encode(&statefile.File{State: q.moved.States[r]}, nil)
	if err != nil {
		return nil, err
	}
	t := q.target(ctx, r.Name)
	if t.err == nil && t.Encrypts() {
		return t.Encrypt(text)
	}
	return text, t.err
}

// archives stores the files of root modules. It returns the hash of each archive, the other root modules that
// it contains, and the directory above all files.
func (q *queued) archives(ctx context.Context, e *roots.Estate, list []*roots.Root) (
	hashes []string, others [][]*roots.Root, top string, err error) {
	inRun := make(map[*roots.Root]bool)
	for _, r := range list {
		inRun[r] = q.mode != plans.Destroy && q.drift == nil // these read the outputs in states
	}
	files := e.Files(ctx)
	top = roots.Absolute(".")
	paths, texts := make([][]string, len(list)), make([]map[string][]byte, len(list))
	for i, r := range list {
		texts[i] = make(map[string][]byte)
		others = append(others, e.NeedsFiles(r, func(o *roots.Root) bool { return inRun[o] }))
		for _, o := range append([]*roots.Root{r}, others[i]...) {
			paths[i] = append(paths[i], files.Of(o)...)
			maps.Copy(texts[i], o.Declaration())
		}
		for _, name := range q.flags.files() {
			paths[i] = append(paths[i], files.At(name)...)
		}
		slices.Sort(paths[i])
		paths[i] = slices.Compact(paths[i])
		for _, path := range append(slices.Collect(maps.Keys(texts[i])), paths[i]...) {
			for !strings.HasPrefix(path, strings.TrimSuffix(top, string(filepath.Separator))+string(filepath.Separator)) {
				top = filepath.Dir(top)
			}
		}
	}
	all := workers.NewArchives(top)
	for i := range list {
		hash, err := all.Add(paths[i], texts[i])
		if err != nil {
			return nil, nil, "", err
		}
		hashes = append(hashes, hash)
	}
	return hashes, others, top, q.queue.Upload(ctx, all)
}

// files returns the paths of files that options name.
func (f *fleetFlags) files() (out []string) {
	for _, v := range f.Variables.Vars {
		if v.File {
			out = append(out, v.Text)
		}
	}
	out = append(out, f.TargetFiles...)
	return append(out, f.ExcludeFiles...)
}

// variablesOf returns the variables of root modules in an environment.
func variablesOf(environ []string) map[string]string {
	out := make(map[string]string)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "TF_VAR_") || name == "TF_WORKSPACE" || name == "TOFU_DEFER" {
			out[name] = value
		}
	}
	return out
}

// follow shows the run from its present phase to its end. own says that interrupts concern the run itself.
func (q *queued) follow(ctx context.Context, own bool) error {
	steady := context.WithoutCancel(ctx)
	watching, cancel := context.WithCancel(steady)
	defer cancel()
	if own {
		q.app.Interrupts.OnInterrupt(q.printInterrupt, q.app.printFailure)
		go q.passOn(watching)
	} else {
		steady = ctx
	}
	f := q.queue.Follow(watching, q.run.ID)
	var unplanned error
	for phase := q.run.Phase; ; phase++ {
		results, err := q.phase(steady, f, phase)
		if err != nil {
			return q.lost(err)
		}
		if q.drift != nil {
			return q.drift.end(q.app, results)
		}
		operation := "plan"
		if phase%2 == 0 {
			operation = map[bool]string{true: "destroy", false: "apply"}[q.mode == plans.Destroy]
		}
		failed := q.flags.summarize(q.app, operation, results)
		if err := q.reload(steady); err != nil {
			return q.lost(err)
		}
		if phase%2 == 1 {
			unplanned = failed
		}
		if q.run.Status == workers.RunWaits {
			if err := q.ask(ctx, results); err != nil {
				return tfdiags.Join(unplanned, err)
			}
			if err := q.reload(steady); err != nil {
				return q.lost(err)
			}
			if q.run.Phase > phase {
				continue
			}
		}
		if q.run.Phase == phase { // a run that is over may have had later phases, which are shown, too
			if phase%2 == 1 {
				return q.planEnd(steady, results, failed)
			}
			return tfdiags.Join(unplanned, failed)
		}
		if phase%2 == 0 {
			q.app.Say("\nThese changes have been applied. Planning the changes that were deferred.")
		}
	}
}

// reload reads the record of the run.
func (q *queued) reload(ctx context.Context) error {
	return q.patiently(ctx, goOn, func() error {
		r, err := q.queue.Run(ctx, q.run.ID)
		if err == nil {
			q.run = r
		}
		return err
	})
}

// goOn is the summary of warnings about a database that doesn't answer after the run was enqueued.
const goOn = "Workers go on with the run"

// patiently repeats what reads or writes the run while the database doesn't answer. It warns of that with this summary.
func (q *queued) patiently(ctx context.Context, summary string, do func() error) error {
	return workers.Patiently(ctx, func(format string, args ...any) {
		q.app.printOnStderr(tfdiags.Warningf(summary, format+".", args...).List())
	}, do)
}

// lost returns the error for a run that can't be followed any more.
func (q *queued) lost(err error) error {
	if errors.Is(err, context.Canceled) {
		q.app.Say("\nThe run goes on. To come back to it: tofu roots watch %s", q.run.ID)
		return exitStatus(1)
	}
	return tfdiags.Errorf("The run can't be followed", "%s. Workers go on with it. To come back to it: tofu roots watch %s",
		strings.TrimSuffix(err.Error(), "."), q.run.ID)
}

// passOn passes the interrupts of this process on to the run.
func (q *queued) passOn(ctx context.Context) {
	for level, signal := range []<-chan struct{}{q.app.Interrupts.Stop, q.app.Interrupts.Kill} {
		select {
		case <-signal:
			err := q.patiently(ctx, goOn, func() error { return q.queue.Stop(ctx, q.run.ID, level+1) })
			if err != nil && ctx.Err() == nil {
				q.app.printOnStderr(tfdiags.Warningf("The interrupt did not reach the run", "%s.", err).List())
			}
		case <-ctx.Done():
			return
		}
	}
}

func (q *queued) printInterrupt(count int) {
	text := "\nInterrupt received. Workers start nothing new, and finish running operations.\n" +
		"Another interrupt tells these to stop.\n"
	if count > 1 {
		text = "\nSecond interrupt received: running operations are told to stop.\n" +
			"A third one ends this command, but not the run.\n"
	}
	q.app.Printer.Message(ui.Text{Text: text})
}

// ask asks for approval of plans.
func (q *queued) ask(ctx context.Context, planned []*fleet.Result) error {
	steady := context.WithoutCancel(ctx)
	if q.app.view.JSON {
		return badUsage("Auto-approve required", "With -json, nobody can be asked. Approve the run with: tofu roots watch %s",
			q.run.ID)
	}
	if len(q.hidden) > 0 {
		return tfdiags.Errorf("The plans can't be approved here", "The plans of these root modules can't be read here: %s. "+
			"The run waits. To approve it, use this where the keys are, in the directory of "+
			"the estate: tofu roots watch %s. To cancel it: tofu runs cancel %[2]s", strings.Join(q.hidden, ", "), q.run.ID)
	}
	if err := q.apply.approvePlans(ctx, planned); err != nil {
		if !errors.Is(err, terminal.ErrInputEnded) {
			return tfdiags.Join(err, q.queue.Stop(steady, q.run.ID, 1))
		}
		return tfdiags.Errorf("The run waits for approval", "There was no answer to the question. To approve the run: tofu "+
			"roots watch %s. To cancel it: tofu runs cancel %[1]s", q.run.ID)
	}
	var approved bool
	approve := q.queue.Approve(q.run.ID, q.run.Phase)
	err := q.patiently(steady, "The run is not approved yet", func() (err error) {
		approved, err = approve(steady)
		return err
	})
	if err == nil && !approved {
		q.app.Say("\nAnother process has decided about this run already.")
	}
	return err
}

// planEnd ends a run after its plan, where nothing is applied.
func (q *queued) planEnd(ctx context.Context, results []*fleet.Result, failed error) error {
	switch {
	case q.run.Status == workers.RunCancelled && failed == nil && (q.run.Operation == "apply" || q.run.Operation == "destroy"):
		return tfdiags.Errorf("The run was cancelled", "Run %s was interrupted, by \"tofu runs cancel\" or because its plans "+
			"were not approved, so nothing of these plans was applied.", q.run.ID)
	case q.apply != nil && failed == nil && fleet.Changes(results) && !fleet.Applyable(results):
		return fleet.Stuck(results)
	case q.out != "":
		if err := q.save(ctx, results); err != nil {
			return tfdiags.Join(failed, err)
		}
	}
	if failed == nil && q.detailed && fleet.Changes(results) {
		return exitStatus(2)
	}
	return failed
}

// save writes the plans to a file.
func (q *queued) save(ctx context.Context, results []*fleet.Result) error {
	tasks, err := q.queue.Tasks(ctx, q.run.ID, 1)
	if err != nil {
		return err
	}
	var parts []fleet.PartPlan
	for i, t := range tasks {
		p := fleet.PartPlan{Result: results[i]}
		if p.Data, _, err = q.queue.Stored(ctx, t); err != nil {
			return err
		}
		for _, n := range t.Needs {
			p.Needs = append(p.Needs, tasks[n].Root)
		}
		parts = append(parts, p)
	}
	if err := fleet.Merge(q.out, q.mode, q.run.About.Dirs, recorded(q.moved.Moves), parts); err != nil {
		return err
	}
	if !q.app.Automated {
		q.app.Printer.Message(ui.Hint{Text: fmt.Sprintf("\nSaved to %s. To apply exactly this, run:\n    "+
			"tofu roots apply %[1]s", q.out)})
	}
	return nil
}

// taskEvent is an event that the process of a task emits.
type taskEvent struct {
	Begins string          `json:"begins,omitempty"` // what the task does
	Out    []byte          `json:"out,omitempty"`
	Live   json.RawMessage `json:"live,omitempty"`
}

// phase shows one phase of the run and returns the results of its root modules.
func (q *queued) phase(ctx context.Context, f *workers.Follower, phase int) ([]*fleet.Result, error) {
	var tasks []*workers.Task
	err := q.patiently(ctx, goOn, func() (err error) {
		tasks, err = f.Begin(ctx, phase)
		return err
	})
	if err != nil {
		return nil, err
	}
	q.flags.shown = newRootsView(q.app, len(q.run.About.Roots)) // as in the processes of the workers
	view, live := q.flags.shown, q.app.Live
	show, name := view.show, phaseNames[phase%2]
	if q.drift != nil {
		show, name = q.drift.show(q.app), "Reading the objects of root modules"
	}
	live.Phase(name, len(tasks))
	defer live.Phase("", 0)
	results := make([]*fleet.Result, len(tasks))
	texts := make([][]byte, len(tasks))
	shown := parallel.InOrder(func(i int, _ struct{}) { show(results[i].Root, results[i], texts[i]) })
	for done := len(tasks) == 0; !done; {
		var events []workers.Event
		var ended []*workers.Task
		err := q.patiently(ctx, goOn, func() (err error) {
			events, ended, done, err = f.Next(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			q.event(ctx, tasks[e.Task].Root, e.Data)
		}
		for _, t := range ended {
			live.End(t.Root)
			results[t.N], texts[t.N] = q.result(ctx, view, t)
			shown.Add(t.N, struct{}{})
		}
		var waits tfdiags.Diagnostics
		err = q.patiently(ctx, goOn, func() (err error) {
			waits, err = f.Waits(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		q.app.printOnStderr(waits)
	}
	return results, nil
}

// phaseNames are the names of planning and applying phases, by the remainder of their number.
var phaseNames = []string{"Applying root modules", "Planning root modules"}

// event shows an event of a task at once.
func (q *queued) event(ctx context.Context, root string, data []byte) {
	list, err := q.events(ctx, root, data)
	if err != nil {
		return // the result of the root module reports it
	}
	for _, e := range list {
		if e.Begins != "" {
			q.app.Live.Begin(root, e.Begins)
		}
		if len(e.Live) > 0 {
			q.app.Live.Stored(root, e.Live)
		}
		if q.app.view.JSON == q.run.About.JSON { // otherwise, only the results are shown
			_, _ = q.app.Out.Write(e.Out)
		}
	}
}

// events decrypts events.
func (q *queued) events(ctx context.Context, root string, data []byte) (list []taskEvent, err error) {
	text, err := q.decrypt(ctx, root, data)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list, err
}

// result returns the result of a task that has ended, and what it has printed.
func (q *queued) result(ctx context.Context, view *rootsView, t *workers.Task) (*fleet.Result, []byte) {
	r := &roots.Root{Name: t.Root, Dir: q.dir(t.Root)}
	var o workers.Outcome
	if err := json.Unmarshal(t.Outcome, &o); err != nil {
		return &fleet.Result{Root: r, Err: err}, nil
	}
	switch {
	case o.Skipped:
		return &fleet.Result{Root: r, Skipped: true, Why: o.Why, Because: o.Because}, nil
	case o.Error != "":
		lines := ""
		for i, why := range t.Reasons {
			lines += fmt.Sprintf("\n  %d. %s", i+1, why)
		}
		return &fleet.Result{Root: r, Err: tfdiags.Errorf("No worker could finish the root module", "It was tried %d times:%s",
			len(t.Reasons), lines)}, nil
	case q.unread[t.Root] != nil:
		if t.Status == workers.TaskDone {
			q.hide(t)
		}
		return &fleet.Result{Root: r, Err: q.unread[t.Root]}, nil
	}
	var from shownRoot
	var result *fleet.Result
	text, err := q.decrypt(ctx, t.Root, t.Shown)
	if err == nil {
		err = json.Unmarshal(text, &from)
	}
	if err == nil {
		result, err = fleet.DecodeResult(r, from.Result)
	}
	if err == nil {
		err = view.take(t.Root, from)
	}
	if err != nil {
		return &fleet.Result{Root: r, Err: q.unreadable(t, err)}, nil
	}
	result.Err = tfdiags.MapError(result.Err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
		return diags.Map(func(d *tfdiags.Diagnostic) {
			_, interrupted := d.Extra.(tfdiags.Interrupted)
			switch {
			case d.Subject != nil:
				_, _ = q.app.Parser.Module(filepath.Dir(d.Subject.Filename), tfdiags.Drop) // its text is shown
			case !interrupted && !strings.Contains(d.Detail, t.Worker):
				d.Detail = strings.TrimSpace(d.Detail + "\n\nThis happened on the worker " + t.Worker + ".")
			}
		})
	})
	return result, from.Text
}

// unreadable returns an error for a task whose stored result or output can't be read, and notes the root module.
func (q *queued) unreadable(t *workers.Task, err error) tfdiags.Diagnostic {
	q.hide(t)
	return tfdiags.Errorf("The result of a root module can't be read", "%s The worker %s has stored it.",
		tfdiags.Sentence(err), t.Worker)
}

func (q *queued) hide(t *workers.Task) {
	if !slices.Contains(q.hidden, t.Root) {
		q.hidden = append(q.hidden, t.Root)
	}
}

// dir returns the directory of a root module.
func (q *queued) dir(root string) string {
	about := &q.run.About
	return filepath.FromSlash(about.RootDirs[slices.Index(about.Roots, root)])
}

// session returns a session for a root module, with the settings that roots.tofu.hcl has for it.
func (q *queued) session(root string) (*session.Session, error) {
	open := func(m session.RootModule) *session.Session { return q.app.Session.At(m, q.app.quiet(io.Discard)) }
	if q.modules == nil {
		var err error
		if q.modules, err = roots.ModulesByName(q.run.About.Dirs, open); err != nil {
			return nil, err
		}
	}
	m, ok := q.modules[root]
	if !ok {
		m.Dir = q.dir(root)
	}
	return open(m), nil
}

// decrypt decrypts what the process of a task has stored, with the settings of the root module in this directory.
func (q *queued) decrypt(ctx context.Context, root string, data []byte) ([]byte, error) {
	if !encryption.IsEncrypted(data) {
		return data, nil
	}
	t := q.target(ctx, root)
	if t.err != nil || t.Target == nil {
		return nil, errors.Join(errors.New("what the worker has stored is encrypted, and the settings for that are not here"), t.err)
	}
	plain, _, err := t.Decrypt(ctx, data)
	return plain, err
}

// target returns the encryption of the plans of a root module, as its configuration in this directory has it.
func (q *queued) target(ctx context.Context, root string) *target {
	t := q.targets[root]
	if t == nil {
		t = &target{}
		var s *session.Session
		if s, t.err = q.session(root); t.err == nil {
			var config *encryption.Config
			if config, t.err = s.FileEncryption(ctx, q.flags.Variables); t.err == nil {
				t.Target = config.Plan()
			}
		}
		if q.targets == nil {
			q.targets = make(map[string]*target)
		}
		q.targets[root] = t
	}
	return t
}
