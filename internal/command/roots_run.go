package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"tofu/internal/engine"
	"tofu/internal/fleet"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// fleetFlags are the options of commands that plan or apply many root modules.
type fleetFlags struct {
	planFlags
	workerFlags
	selectFlags
	queueFlags
	Share  *bool // nil if the file of the estate decides
	report reportFile[*fleet.Report]
	shown  *rootsView
}

func (f *fleetFlags) add(fs *options) {
	f.operationFlags.add(fs)
	f.addSensitive(fs)
	f.addPlanView(fs)
	f.addWorkers(fs)
	f.addQueue(fs)
	fs.BoolFunc("share-providers", "Start one process for all root modules that have the same configuration of a "+
		"provider. Relative paths in that configuration then start in the working directory.", func(text string) error {
		share, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("write true or false")
		}
		f.Share = &share
		return nil
	})
	f.report.add(fs, "Write the result of each root module to `path`: as JSON if it ends in .json, as JUnit XML if "+
		"in .xml, or as Markdown if in .md.", fleet.Forms)
}

// addPlan declares the options that plan and apply have but destroy does not.
func (f *fleetFlags) addPlan(fs *options) {
	fs.BoolVar(&f.RefreshOnly, "refresh-only", false,
		"Only check whether objects changed outside of OpenTofu, and plan to record their changes in the states.")
	fs.BoolVar(&f.Refresh, "refresh", true, "Do not check whether objects changed outside of OpenTofu.")
	f.Look.add(fs)
	f.addSelect(fs)
	f.Defer = true
}

// estate loads an estate and selects root modules. It doesn't return errors of single root
// modules: the run reports them and continues with the others. For a destruction, it is an
// error if a root module that is not selected reads outputs of a selected one.
func (f *fleetFlags) estate(ctx context.Context, app *App, dirs []string) (*roots.Estate, []*roots.Root, error) {
	e, selected, err := f.find(ctx, app, dirs)
	if e == nil || err != nil && !e.OnlyRootErrors(err) {
		return nil, nil, err
	}
	if f.Destroy {
		if err := e.CheckDestroy(selected); err != nil {
			return nil, nil, err
		}
	}
	return e, selected, nil
}

// run returns a run of a command in the selected root modules of an estate, which was loaded
// from dirs. JSON output includes progress events.
func (f *fleetFlags) run(app *App, e *roots.Estate, selected []*roots.Root, dirs []string) *fleet.Run {
	lines := &wholeWrites{out: app.Out}
	f.shown = newRootsView(app, len(selected))
	share := e.ShareProviders
	if f.Share != nil {
		share = *f.Share
	}
	return &fleet.Run{
		Session: app.Session, Estate: e, Selected: selected, Directories: dirs, Roots: f.Workers,
		Options: f.operation(), Events: app.view.JSON, ShareProviders: share,
		Printer: func(r *roots.Root, out io.Writer) ui.Printer {
			if app.view.JSON {
				opts := app.viewOptions(lines)
				opts.Err, opts.Live, opts.Root = out, nil, r.Name
				return ui.NewJSON(opts)
			}
			return f.shown.printer(r.Name, out)
		},
		Show: f.shown.show, Still: f.shown.still(),
	}
}

// wholeWrites is a writer for concurrent use. It writes the data of one call at a time, so that the
// lines of root modules don't mix.
type wholeWrites struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (w *wholeWrites) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// summarize shows the summary of a run and writes its report. It returns an error if any root
// modules failed.
func (f *fleetFlags) summarize(a *App, operation string, results []*fleet.Result) error {
	sums := fleet.Summarize(operation, results)
	f.shown.finish(operation, results)
	a.Printer.Message(sums)
	return tfdiags.Join(fleet.Failures(results), f.report.write(fleet.NewReport(sums, results)))
}

var cmdRootsPlan = &Command{
	Name: "plan", Args: "[DIR...]", Short: "Show the changes that many root modules require",
	Long: `
Plans all root modules below the directories in one run. A root module that
reads outputs of another one is planned with its planned outputs, not with those
of its last apply. With -out, all plans are saved to one file.`,
	New: with((*rootsPlanFlags).declare, runRootsPlan),
}

type rootsPlanFlags struct {
	fleetFlags
	Out              string
	DetailedExitCode bool
}

func (f *rootsPlanFlags) declare(fs *options) {
	f.add(fs)
	f.addPlan(fs)
	f.Look.addVanished(fs, nil)
	fs.BoolVar(&f.Destroy, "destroy", false, "Plan to destroy everything.")
	fs.StringVar(&f.Out, "out", "", "Save all plans to one file at `path`, for \"roots apply\".")
	fs.BoolVar(&f.DetailedExitCode, "detailed-exitcode", false,
		"Exit with status 0 without changes, 1 after an error, and 2 with changes.")
}

// manyProcesses is the number of provider processes that could be saved from which a plan mentions it:
// starting, configuring and ending ten takes about a third of a second of CPU time.
const manyProcesses = 10

func runRootsPlan(ctx context.Context, app *App, f *rootsPlanFlags, dirs []string) error {
	opts, err := f.options()
	if err != nil {
		return err
	}
	if err := planTarget(f.Out); err != nil {
		return err
	}
	e, selected, err := f.estate(ctx, app, dirs)
	if err != nil {
		return err
	}
	if f.address(app) != "" {
		q := &queued{app: app, flags: &f.fleetFlags, out: f.Out, detailed: f.DetailedExitCode, mode: opts.Mode}
		return q.start(ctx, "plan", e, selected, dirs, false)
	}
	defer app.ShareClients()()
	run := f.run(app, e, selected, dirs)
	moved, err := f.moves(app, e, selected, dirs).preview(ctx)
	if err != nil {
		return err
	}
	run.Moved, run.Moves = moved.States, recorded(moved.Moves)
	opts.NotSaved = f.Out == ""
	var archive *fleet.Archive
	if f.Out != "" {
		archive, err = fleet.Create(f.Out, opts.Mode)
		if err != nil {
			return err
		}
	}
	results := run.Plan(ctx, *opts, archive)
	failed := f.summarize(app, "plan", results)
	if archive != nil {
		if err := archive.Close(run, results); err != nil {
			return errors.Join(failed, err)
		}
	}
	if archive != nil && !app.Automated {
		switch {
		case failed == nil:
			app.Printer.Message(ui.Hint{Text: fmt.Sprintf("\nSaved to %s. To apply exactly this, run:\n    "+
				"tofu roots apply %[1]s", f.Out)})
		case fleet.Applyable(results):
			app.Printer.Message(ui.Hint{Text: fmt.Sprintf("\nSaved to %s without the root modules that were not planned. "+
				"To apply the others, run:\n    tofu roots apply %[1]s", f.Out)})
		}
	}
	if run.Repeated >= manyProcesses && !app.Automated {
		app.Printer.Message(ui.Hint{Text: fmt.Sprintf("\n%d provider processes had the configuration of another one. "+
			"With -share-providers, or\nshare_providers = true in roots.tofu.hcl, root modules share such processes. "+
			"Relative paths\nin these configurations then start in this directory.", run.Repeated)})
	}
	if failed != nil {
		return failed
	}
	if f.DetailedExitCode && fleet.Changes(results) {
		return exitStatus(2)
	}
	return nil
}

var cmdRootsApply = &Command{
	Name: "apply", Args: "[DIR... | FILE]", Complete: planFiles, Short: "Apply the plans of many root modules",
	Long: `
Plans all root modules below the directories, shows the plans, asks for approval
of all of them and applies them, each root module after those whose outputs it
reads. Deferred changes are then planned and applied in the same way.

With a file that "tofu roots plan -out=FILE" saved, applies exactly those plans
without asking. With -resume=FILE, applies what is left of them, and asks before
it destroys objects that a failed run has created only in part.`,
	New: with((*rootsApplyFlags).declare, runRootsApply),
}

var cmdRootsDestroy = &Command{
	Name: "destroy", Args: "[DIR...]", Short: "Destroy everything that many root modules manage",
	Long: `
Plans to destroy everything that the root modules below the directories manage,
asks for approval, and destroys it, each root module before those whose
outputs it reads. It is the same as "tofu roots apply -destroy"; "tofu roots
plan -destroy" shows what would be destroyed.`,
	New: with((*rootsApplyFlags).declareDestroy, runRootsApply),
}

type rootsApplyFlags struct {
	fleetFlags
	AutoApprove bool
	Resume      string
	command     bool // whether the command is destroy
}

func (f *rootsApplyFlags) declare(fs *options) {
	f.add(fs)
	f.addPlan(fs)
	f.addApply(fs)
	fs.BoolVar(&f.Destroy, "destroy", false, "Destroy everything, as \"tofu roots destroy\" does.")
	fs.StringVar(&f.Resume, "resume",
		"", "Apply what is left of the plans in `FILE` after a run that failed or was interrupted. Asks if that "+
			"destroys objects that the run has left tainted.")
}

func (f *rootsApplyFlags) declareDestroy(fs *options) {
	f.add(fs)
	f.addApply(fs)
	f.addSelect(fs)
	f.Refresh, f.Defer = true, true
	f.Destroy, f.command = true, true
}

func (f *rootsApplyFlags) addApply(fs *options) {
	fs.BoolVar(&f.AutoApprove, "auto-approve", false, "Do not ask for approval.")
	f.Look.addVanished(fs, &f.AutoApprove)
	addRetry(fs, &f.Retries)
}

func runRootsApply(ctx context.Context, app *App, f *rootsApplyFlags, args []string) error {
	job := &rootsApply{app: app, flags: f}
	file := f.Resume
	if file == "" && len(args) == 1 && !f.command {
		if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
			file, args = args[0], nil
		}
	}
	switch {
	case file != "":
		if len(args) > 0 {
			return badUsage("Too many command line arguments", "With a saved plan, apply takes no directories.")
		}
		if f.selects() {
			return badUsage("Incompatible options",
				"A saved plan is applied as a whole. Select root modules with \"tofu roots plan\".")
		}
		return job.saved(ctx, file)
	case app.view.JSON && !f.AutoApprove && f.command:
		return badUsage("Auto-approve required", "With -json, destroy can't ask for approval: specify -auto-approve.")
	case app.view.JSON && !f.AutoApprove:
		return badUsage("Plan file or auto-approve required",
			"With -json, apply can't ask for approval: specify a saved plan or -auto-approve.")
	}
	if f.address(app) != "" {
		return job.queued(ctx, args)
	}
	return job.rounds(ctx, args)
}

// queued plans and applies on workers.
func (a *rootsApply) queued(ctx context.Context, dirs []string) error {
	opts, err := a.flags.options()
	if err != nil {
		return err
	}
	e, selected, err := a.flags.estate(ctx, a.app, dirs)
	if err != nil {
		return err
	}
	moves := a.flags.moves(a.app, e, selected, dirs)
	moves.approve = a.approve
	if err := moves.carry(ctx); err != nil {
		return err
	}
	operation := "apply"
	if a.flags.Destroy {
		operation = "destroy"
	}
	q := &queued{app: a.app, flags: &a.flags.fleetFlags, apply: a, mode: opts.Mode}
	return q.start(ctx, operation, e, selected, dirs, a.flags.AutoApprove)
}

// rootsApply is one run of the apply or destroy command.
type rootsApply struct {
	app   *App
	flags *rootsApplyFlags
}

// saved applies the plans in the file at path.
func (a *rootsApply) saved(ctx context.Context, path string) error {
	app, f := a.app, a.flags
	saved, err := fleet.Open(path)
	if err != nil {
		return err
	}
	defer saved.Close()
	if f.Destroy && saved.Mode != plans.Destroy || f.RefreshOnly && saved.Mode != plans.RefreshOnly {
		option := "destroy"
		if f.RefreshOnly {
			option = "refresh-only"
		}
		return otherPlan(path, option)
	}
	e, _, err := f.estate(ctx, app, saved.Directories)
	if err != nil {
		return err
	}
	selected, err := saved.Select(e)
	if err != nil {
		return err
	}
	if f.address(app) != "" {
		if f.Resume != "" {
			return badUsage("Incompatible options", "What is left of a plan is applied in one process. Leave out -queue.")
		}
		if err := f.moves(app, e, selected, saved.Directories).carrySaved(ctx, saved); err != nil {
			return err
		}
		q := &queued{app: app, flags: &f.fleetFlags, apply: a, mode: saved.Mode, saved: saved}
		return q.start(ctx, "apply", e, selected, saved.Directories, true)
	}
	begin := fleet.Begin
	if f.Resume != "" {
		begin = fleet.Resume
	}
	rec, err := begin(saved)
	if err != nil {
		return err
	}
	defer rec.Close()
	defer app.ShareClients()()
	if w := saved.Incomplete(); w != nil {
		app.Printer.Diagnostics(w)
	}
	if err := f.moves(app, e, selected, saved.Directories).carrySaved(ctx, saved); err != nil {
		return err
	}
	run := f.run(app, e, selected, saved.Directories)
	agreed, err := a.agree(ctx, run, saved, rec)
	if err != nil {
		return err
	}
	results, err := a.apply(ctx, run, saved, rec, agreed)
	switch {
	case err != nil && rec.Unfinished() && fleet.Resumable(results):
		app.Say("\nTo continue with what is left of this plan, run:\n    tofu roots apply -resume=%s", path)
	case err != nil && rec.Unfinished():
		app.Say("\nNothing more of this plan can be applied. Make a new plan to continue.")
	case err == nil && fleet.Left(results):
		app.Say("\nNot everything is done: changes were deferred. Make a new plan to continue.")
	}
	return err
}

// agree shows what is destroyed to finish what an earlier run began, and asks for approval of that.
func (a *rootsApply) agree(
	ctx context.Context, run *fleet.Run, saved *fleet.Saved, rec *fleet.Record,
) ([]fleet.Loss, error) {
	lost := run.Losses(ctx, saved, rec)
	if len(lost) == 0 {
		return nil, nil
	}
	a.app.Say("\n%s", fleet.LossTitle(lost))
	for _, l := range lost {
		a.app.Say("  - %s.", l)
	}
	if a.app.view.JSON && !a.flags.AutoApprove {
		return nil, badUsage("Auto-approve required",
			"With -json, -resume can't ask whether to destroy these objects: specify -auto-approve.")
	}
	return lost, a.approve(ctx, terminal.Question{Title: "Destroy " + ui.Count(len(lost), "object") +
		" of the earlier run, and apply what is left of the plan?", Text: "This can't be undone."})
}

// apply applies saved plans and shows the results.
func (a *rootsApply) apply(
	ctx context.Context, run *fleet.Run, saved *fleet.Saved, rec *fleet.Record, agreed []fleet.Loss,
) ([]*fleet.Result, error) {
	if a.flags.shown.table {
		a.app.Say("") // lines without headings follow
	}
	results := run.Apply(ctx, engine.ApplyOptions{ShowSensitive: a.flags.ShowSensitive}, saved, rec, agreed)
	operation := "apply"
	if saved.Mode == plans.Destroy {
		operation = "destroy"
	}
	return results, a.flags.summarize(a.app, operation, results)
}

// rounds plans, asks for approval and applies, until nothing is deferred. If some root modules
// can't be planned, the others are still applied.
func (a *rootsApply) rounds(ctx context.Context, dirs []string) error {
	app, f := a.app, a.flags
	opts, err := f.options()
	if err != nil {
		return err
	}
	e, selected, err := f.estate(ctx, app, dirs)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tofu-roots-")
	if err != nil {
		return fmt.Errorf("making a directory for the plans: %w", err)
	}
	defer os.RemoveAll(dir)
	defer app.ShareClients()()
	run := f.run(app, e, selected, dirs)
	moves := f.moves(app, e, selected, dirs)
	moves.approve = a.approve
	if err := moves.carry(ctx); err != nil {
		return err
	}
	for {
		again, err := a.round(ctx, run, *opts, filepath.Join(dir, "plan"))
		if err != nil || !again {
			return err
		}
		app.Say("\nThese changes have been applied. Planning the changes that were deferred.")
	}
}

// round plans all root modules, and applies the plans if the user approves. again reports whether
// another round is needed: whether changes were deferred and this round changed something.
func (a *rootsApply) round(
	ctx context.Context, run *fleet.Run, opts engine.PlanOptions, path string,
) (again bool, err error) {
	archive, err := fleet.CreateTemporary(path, opts.Mode)
	if err != nil {
		return false, err
	}
	planned := run.Plan(ctx, opts, archive)
	unplanned := a.flags.summarize(a.app, "plan", planned)
	if err := archive.Close(run, planned); err != nil {
		return false, err
	}
	switch {
	case ctx.Err() != nil, !fleet.Changes(planned) && !fleet.Records(planned):
		return false, unplanned
	case !fleet.Changes(planned): // nothing to approve
	case !fleet.Applyable(planned):
		return false, tfdiags.Join(unplanned, fleet.Stuck(planned))
	default:
		if err := a.approvePlans(ctx, planned); err != nil {
			return false, err
		}
	}
	saved, err := archive.Open()
	if err != nil {
		return false, err
	}
	defer saved.Close()
	saved.Failed = nil // unplanned already contains the errors of these root modules
	selected, err := saved.Select(run.Estate)
	if err != nil {
		return false, err
	}
	some := *run
	some.Selected = selected
	results, err := a.apply(ctx, &some, saved, fleet.NoRecord(), nil)
	if err := tfdiags.Join(unplanned, err); err != nil {
		return false, err
	}
	return fleet.Left(planned) && fleet.Applied(results), nil
}

// approvePlans asks the user for approval of plans.
func (a *rootsApply) approvePlans(ctx context.Context, planned []*fleet.Result) error {
	q := terminal.Question{Title: "Do you want to perform these actions in all of these root modules?"}
	if a.flags.Destroy {
		q = terminal.Question{Title: "Destroy all of this in all of these root modules?", Text: "This can't be undone."}
	}
	return a.approve(ctx, noted(q, planned))
}

// noted adds to a question what the plans have not read, and which objects are gone.
func noted(q terminal.Question, planned []*fleet.Result) terminal.Question {
	var lines []string
	for _, r := range planned {
		if r.Plan != nil && len(r.Plan.Vanished) > 0 {
			lines = append(lines, "Many objects of "+r.Root.Name+" are gone: "+strings.Join(r.Plan.Vanished, " "))
		}
	}
	if sums := fleet.Summarize("plan", planned); sums.LookedAt != nil {
		lines = append(lines, sums.LookedAt.Text(sums.At)+".")
	}
	q.Text = strings.TrimSpace(strings.Join(append(lines, q.Text), "\n"))
	return q
}

// approve asks the user for approval.
func (a *rootsApply) approve(ctx context.Context, q terminal.Question) error {
	if a.flags.AutoApprove {
		return nil
	}
	a.app.Say("")
	ok, err := a.app.Confirm(ctx, q)
	if errors.Is(err, terminal.ErrInputEnded) {
		return fmt.Errorf("%w. To proceed without being asked, use -auto-approve", err)
	}
	if err != nil {
		return err
	}
	if !ok {
		a.app.Say("\nCancelled.")
		return exitStatus(1)
	}
	return nil
}
