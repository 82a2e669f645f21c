package command

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"tofu/internal/fleet"
	"tofu/internal/roots"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdRootsDrift = &Command{
	Name: "drift", Args: "[DIR...]", Short: "Show what was changed outside in many root modules",
	Long: `
Reads the objects of all root modules below the directories and shows what was
changed outside of this program, as "tofu drift" does in one root module. It
takes no locks and changes neither objects nor states.

With -queue, workers read the objects.

The exit status is 0 without drift, 2 with drift, and 1 after an error or if an
object could not be read.`,
	New: with((*rootsDriftFlags).declare, runRootsDrift),
}

type rootsDriftFlags struct {
	fleetFlags
	Document    bool
	driftReport reportFile[*fleet.DriftReport]
}

func (f *rootsDriftFlags) declare(fs *options) {
	f.planFlags.viewFlags.add(fs)
	f.addSensitive(fs)
	f.varFlags.add(fs)
	f.Input.add(fs)
	addLimits(fs, &f.Limits)
	f.addWorkers(fs)
	f.addSelect(fs)
	f.addQueue(fs)
	f.addDrift(fs)
	addDriftReport(fs, &f.driftReport)
	f.addProgress(fs)
	fs.BoolVar(&f.Document, "json", false, "Print a JSON document.")
}

func runRootsDrift(ctx context.Context, app *App, f *rootsDriftFlags, dirs []string) error {
	opts, err := f.options()
	if err != nil {
		return err
	}
	if f.Document {
		app.onStderr()
	}
	e, selected, err := f.find(ctx, app, dirs)
	if e == nil || err != nil && !e.OnlyRootErrors(err) {
		return err
	}
	if f.address(app) != "" {
		q := &queued{app: app, flags: &f.fleetFlags, mode: opts.Mode, drift: f}
		return q.start(ctx, "drift", e, selected, dirs, false)
	}
	defer app.ShareClients()()
	run := f.run(app, e, selected, dirs)
	run.Printer, run.Show, run.Still = driftPrinter(app), f.show(app), nil
	return f.end(app, run.Drift(ctx, *opts, f.ShowSensitive))
}

// driftPrinter returns a function that returns the printer of a root module.
func driftPrinter(app *App) func(*roots.Root, io.Writer) ui.Printer {
	return func(_ *roots.Root, out io.Writer) ui.Printer {
		opts := app.viewOptions(out)
		opts.Err, opts.Live = out, nil
		return ui.NewHuman(opts)
	}
}

// show returns a function that shows a finished root module.
func (f *rootsDriftFlags) show(app *App) func(*roots.Root, *fleet.Result, []byte) {
	return func(r *roots.Root, result *fleet.Result, text []byte) {
		if f.Document || app.view.JSON {
			return
		}
		if len(text) > 0 || result.Err != nil {
			app.Say("%s\n\n%s", rootHeading(app.Terminal, r.Name), bytes.TrimSpace(text))
		}
		app.Printer.Diagnostics(tfdiags.FromError(result.Err))
	}
}

// driftLine is the report as one of the lines of "roots watch -json".
type driftLine struct {
	Type string `json:"type"`
	*fleet.DriftReport
}

// end shows all results together and writes the report. Its error has the exit status.
func (f *rootsDriftFlags) end(app *App, results []*fleet.Result) (err error) {
	report := fleet.NewDriftReport(results)
	switch {
	case app.view.JSON:
		err = json.NewEncoder(app.Out).Encode(driftLine{"drift", report})
	case f.Document:
		err = report.JSON(app.Out)
	default:
		app.Say("\n%s", report.Summary())
	}
	err = tfdiags.Join(err, f.driftReport.write(report))
	switch failed := fleet.Failures(results); {
	case err != nil || failed != nil:
		return tfdiags.Join(err, failed)
	case report.Drifted:
		return exitStatus(2)
	}
	return nil
}
