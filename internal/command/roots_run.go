package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"tofu/internal/atomicfile"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/roots/rollout"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
)

var cmdRootsPlan = &Command{
	Name: "plan", Args: "[DIR...]", Short: "Show what an apply of all root modules would do",
	Long: `
Plans all root modules below the directories in order. Each one gets the planned
outputs of those that it reads. What can't be planned yet, because it depends on
values that only an apply knows, is put off to the next plan.`,
	New: with(func(f *rootsPlanFlags, fs *options) {
		f.add(fs)
		fs.StringVar(&f.Out, "out", "", "Save the plan of all root modules to `path`, for \"tofu roots apply\".")
		fs.BoolVar(&f.Destroy, "destroy", false, "Plan to destroy everything that the configurations manage.")
		fs.BoolVar(&f.DetailedExitCode, "detailed-exitcode", false,
			"Exit with status 0 without changes, 1 after an error, and 2 with changes.")
	}, runRootsPlan),
}

var cmdRootsApply = &Command{
	Name: "apply", Args: "[PLAN | DIR...]", Short: "Plan and apply all root modules",
	Long: `
Plans all root modules below the directories, shows the plan, asks for approval
once, and applies the root modules in order. With a file that "tofu roots plan
-out=PLAN" saved, applies exactly that plan without asking. If a root module
fails, only those that read it are left out.`,
	New: with(func(f *rootsApplyFlags, fs *options) {
		f.add(fs)
		fs.BoolVar(&f.AutoApprove, "auto-approve", false, "Do not ask for approval.")
	}, runRootsApply),
}

var cmdRootsDestroy = &Command{
	Name: "destroy", Args: "[DIR...]", Short: "Destroy everything that all root modules manage",
	Long: `
Destroys all objects that the root modules below the directories manage, in
reverse order: a root module after those that read it.`,
	New: with(func(f *rootsApplyFlags, fs *options) {
		f.add(fs)
		fs.BoolVar(&f.AutoApprove, "auto-approve", false, "Do not ask for approval.")
		f.Destroy = true
	}, runRootsApply),
}

// rolloutFlags are common to the commands that plan root modules.
type rolloutFlags struct {
	viewFlags
	workerFlags
	lockFlags
	Parallelism int
	Refresh     bool
	Destroy     bool
}

func (f *rolloutFlags) add(fs *options) {
	f.viewFlags.add(fs)
	f.addSensitive(fs)
	f.addPlanView(fs)
	f.addWorkers(fs)
	f.lockFlags.add(fs)
	fs.IntVar(&f.Parallelism, "parallelism", 0, "Have at most `n` operations of one root module run at the same time "+
		"(default 10).")
	fs.BoolVar(&f.Refresh, "refresh", true, "Do not check whether objects changed outside.")
}

type rootsPlanFlags struct {
	rolloutFlags
	Out              string
	DetailedExitCode bool
}

type rootsApplyFlags struct {
	rolloutFlags
	AutoApprove bool
}

// mode returns the mode of the plans.
func (f *rolloutFlags) mode() plans.Mode {
	if f.Destroy {
		return plans.Destroy
	}
	return plans.Normal
}

// rollout returns the rollout of an estate. Results are passed to report.
func (f *rolloutFlags) rollout(app *App, estate *roots.Estate, report func(*rollout.Result)) *rollout.Rollout {
	return &rollout.Rollout{
		Estate: estate, Open: app.openRoot, Mode: f.mode(), Lock: f.LockOptions, Parallelism: f.Parallelism,
		Workers: f.Workers, Report: report,
		Options: func() *engine.PlanOptions {
			return &engine.PlanOptions{Mode: f.mode(), SkipRefresh: !f.Refresh, Defer: true}
		},
	}
}

func runRootsPlan(ctx context.Context, app *App, f *rootsPlanFlags, args []string) error {
	if err := planTarget(f.Out); err != nil {
		return err
	}
	estate, err := app.loadEstate(ctx, args)
	if estate == nil || err != nil && !onlyRootErrors(estate, err) {
		return err
	}
	results := f.rollout(app, estate, app.showResult).Plan(ctx)
	total := app.showTotal(results, "Plan", "to ")
	if f.Out != "" && total.failed == 0 {
		if err := app.saveRollout(f.Out, f.mode(), args, results); err != nil {
			return err
		}
	}
	return total.status(f.DetailedExitCode)
}

// onlyRootErrors reports whether nothing but single root modules is wrong, so that the others can be
// planned.
func onlyRootErrors(estate *roots.Estate, err error) bool {
	n := 0
	for _, r := range estate.Roots {
		n += len(tfdiags.FromError(r.Err))
	}
	return len(tfdiags.FromError(err)) == n
}

// saveRollout writes the plan of an estate.
func (a *App) saveRollout(path string, mode plans.Mode, dirs []string, results []*rollout.Result) error {
	data, err := rollout.Encode(mode, dirs, results)
	if err == nil {
		err = atomicfile.WriteNamed(path, data, 0o600) // plans may contain secrets
	}
	if err != nil {
		return notSaved(path, err)
	}
	a.Say("\nThe plan of all root modules was saved to %s. To apply exactly this plan, run:\n  tofu roots apply %s", path,
		path)
	return nil
}

func runRootsApply(ctx context.Context, app *App, f *rootsApplyFlags, args []string) error {
	if len(args) == 1 {
		if data, err := os.ReadFile(args[0]); err == nil {
			return app.applyRollout(ctx, f, args[0], data)
		} else if errors.Is(err, fs.ErrNotExist) {
			return tfdiags.Errorf("Nothing to apply", "There is no file or directory %s.", args[0])
		}
	}
	estate, err := app.loadEstate(ctx, args)
	if estate == nil || err != nil && !onlyRootErrors(estate, err) {
		return err
	}
	for {
		planned := f.rollout(app, estate, app.showResult).Plan(ctx)
		total := app.showTotal(planned, "Plan", "to ")
		if total.applicable == 0 || ctx.Err() != nil {
			return total.status(false)
		}
		if !f.AutoApprove {
			if err := app.approveRollout(ctx, f.mode(), total.applicable); err != nil {
				return err
			}
		}
		applied := f.rollout(app, estate, app.showResult).Apply(ctx, planned)
		done := app.showTotal(applied, "Applied", "")
		if done.failed+done.skipped > 0 || total.failed > 0 || done.deferred == 0 {
			return max(done.status(false), total.status(false))
		}
		app.Say("\nThis part of the plan is applied. Planning what was deferred (%s).", ui.Count(done.deferred, "change"))
	}
}

// applyRollout applies a saved plan.
func (a *App) applyRollout(ctx context.Context, f *rootsApplyFlags, path string, data []byte) error {
	if !rollout.Is(data) {
		return tfdiags.Errorf("Not a plan of root modules", "%s is not a plan that was saved with \"tofu roots plan -out\". "+
			"Apply the plan of one root module with \"tofu apply\" in its directory.", path)
	}
	file, err := rollout.Decode(data)
	if err != nil {
		return err
	}
	if f.Destroy && file.Mode != plans.Destroy {
		return badUsage("Can't change a saved plan", "%s was made without -destroy.", path)
	}
	f.Destroy = file.Mode == plans.Destroy
	estate, err := a.loadEstate(ctx, file.Directories)
	if err != nil {
		return err
	}
	planned, err := file.Results(estate)
	if err != nil {
		return err
	}
	return a.showTotal(f.rollout(a, estate, a.showResult).Apply(ctx, planned), "Applied", "").status(false)
}

// approveRollout asks the user whether to apply the plans of n root modules.
func (a *App) approveRollout(ctx context.Context, mode plans.Mode, n int) error {
	q := terminal.Question{Title: fmt.Sprintf("Do you want to perform these actions in %s?", ui.Count(n, "root module"))}
	if mode == plans.Destroy {
		q = terminal.Question{Title: fmt.Sprintf("Destroy all of this in %s?", ui.Count(n, "root module")),
			Text: "This can't be undone."}
	}
	ok, err := a.Confirm(ctx, q)
	if errors.Is(err, terminal.ErrInputEnded) {
		return fmt.Errorf("%w. With -auto-approve nothing is asked", err)
	}
	if err != nil {
		return err
	}
	if !ok {
		a.Say("\nApply cancelled.")
		return exitStatus(1)
	}
	return nil
}

// showResult prints what became of one root module. Nothing is printed for one without changes.
func (a *App) showResult(r *rollout.Result) {
	switch {
	case r.Status != rollout.Skipped && len(r.Output) == 0 && r.Err == nil: // for example, only outputs changed
		return
	case r.Status == rollout.Skipped:
		a.Say("%s\nSkipped%s.", a.rootHeading(r.Root), because(r))
		return
	}
	a.Say("%s", a.rootHeading(r.Root))
	_, _ = a.Out.Write(r.Output)
	a.Printer.Diagnostics(tfdiags.FromError(r.Err))
	r.Output = nil
}

// because says which failed root modules a skipped one needs.
func because(r *rollout.Result) string {
	if len(r.Behind) == 0 {
		return ", because the run was interrupted"
	}
	return ", because it needs " + namesOf(r.Behind)
}

// rolloutTotal sums up the results of root modules.
type rolloutTotal struct {
	roots, changed, applicable, failed, skipped, deferred int
	counts                                                planview.Counts
}

// showTotal prints the sums of results.
func (a *App) showTotal(results []*rollout.Result, what, prefix string) rolloutTotal {
	t := rolloutTotal{roots: len(results)}
	for _, r := range results {
		t.counts = t.counts.Plus(r.Counts)
		t.deferred += r.Deferred
		if r.Plan != nil {
			t.applicable++
		}
		switch r.Status {
		case rollout.Changed:
			t.changed++
		case rollout.Failed:
			t.failed++
		case rollout.Skipped:
			t.skipped++
		}
	}
	parts := []string{}
	verb := "change"
	if t.changed == 1 {
		verb = "changes"
	}
	if what == "Applied" {
		verb = "changed"
	}
	parts = append(parts, fmt.Sprintf("%d of %s %s", t.changed, ui.Count(t.roots, "root module"), verb))
	if t.failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", t.failed))
	}
	if t.skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", t.skipped))
	}
	text := strings.Join(parts, ", ")
	if prefix != "" {
		text += fmt.Sprintf(": %d to add, %d to change, %d to destroy", t.counts.Add, t.counts.Change, t.counts.Remove)
	} else {
		text += fmt.Sprintf(": %d added, %d changed, %d destroyed", t.counts.Add, t.counts.Change, t.counts.Remove)
	}
	if t.deferred > 0 {
		text += fmt.Sprintf("; %s deferred", ui.Count(t.deferred, "change"))
	}
	a.Say("\n%s: %s.", a.emphasis(what), text)
	return t
}

// status returns the exit status as an error.
func (t rolloutTotal) status(detailed bool) exitStatus {
	switch {
	case t.failed+t.skipped > 0:
		return exitStatus(1)
	case detailed && t.changed > 0:
		return exitStatus(2)
	}
	return 0
}
