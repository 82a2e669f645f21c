package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"

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

The exit status is 0 without drift, 2 with drift, and 1 after an error or if an
object could not be read.`,
	New: with(func(f *rootsDriftFlags, fs *options) {
		f.planFlags.viewFlags.add(fs)
		f.addSensitive(fs)
		f.varFlags.add(fs)
		f.Input.add(fs)
		addLimits(fs, &f.Limits)
		f.addWorkers(fs)
		f.addSelect(fs)
		f.addDrift(fs)
		f.addProgress(fs)
		fs.BoolVar(&f.Document, "json", false, "Print a JSON document.")
		fs.Func("report", "Also write the result to `path`: as JSON if it ends in .json, or as Markdown if in .md.",
			func(path string) error {
				f.Report, f.form = path, rootsDriftForms[filepath.Ext(path)]
				if f.form == nil {
					return errors.New("must end in .json or .md")
				}
				return writable(path)
			})
	}, runRootsDrift),
}

var rootsDriftForms = map[string]func(*fleet.DriftReport, io.Writer) error{
	".json": (*fleet.DriftReport).JSON, ".md": (*fleet.DriftReport).Markdown,
}

type rootsDriftFlags struct {
	planFlags
	workerFlags
	selectFlags
	Document bool
	Report   string
	form     func(*fleet.DriftReport, io.Writer) error
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
	defer app.ShareClients()()
	run := &fleet.Run{
		ShareProviders: e.ShareProviders,
		Session:        app.Session, Estate: e, Selected: selected, Directories: dirs, Roots: f.Workers, Options: f.operation(),
		Printer: func(_ *roots.Root, out io.Writer) ui.Printer {
			opts := app.viewOptions(out)
			opts.Err, opts.Live = out, nil
			return ui.NewHuman(opts)
		},
		Show: func(r *roots.Root, result *fleet.Result, text []byte) {
			if f.Document {
				return
			}
			if len(text) > 0 || result.Err != nil {
				app.Say("%s\n\n%s", rootHeading(app.Terminal, r.Name), bytes.TrimSpace(text))
			}
			app.Printer.Diagnostics(tfdiags.FromError(result.Err))
		},
	}
	results, report := run.Drift(ctx, *opts, f.ShowSensitive)
	if f.Document {
		err = report.JSON(app.Out)
	} else {
		app.Say("\n%s", report.Summary())
	}
	if f.Report != "" {
		out, openErr := openDocument(app.Out, f.Report)
		if openErr == nil {
			openErr = out.close(f.form(report, out))
		}
		err = tfdiags.Join(err, openErr)
	}
	switch failed := fleet.Failures(results); {
	case err != nil || failed != nil:
		return tfdiags.Join(err, failed)
	case report.Drifted:
		return exitStatus(2)
	}
	return nil
}
