package command

import (
	"context"
	"io"

	"tofu/internal/fleet"
	"tofu/internal/refresh"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/driftview"
	"tofu/internal/ui/termtext"
)

var cmdDrift = &Command{
	Name: "drift", Own: true, Short: "Show what was changed outside",
	Long: `
Reads the objects in the state and shows what was changed outside of this
program: objects that are gone, attributes that changed, and what a provider
only writes in another way. It takes no lock and changes neither objects nor the
state; it records only when objects were last read. With -max-age, objects that
were read since are not read again, so that an interrupted run can continue.

Three options read only the objects at an address of a module, a resource or an
instance. -accept takes what changed there into the state, which it locks and
writes. -revert plans to undo it, whatever the configuration says now; "tofu
apply" applies a plan that was saved with -out. -why says what in the
configuration would react to it.

The exit status is 0 without drift, 2 with drift, and 1 after an error or if an
object could not be read.`,
	New: with(func(f *driftFlags, fs *options) {
		f.planFlags.viewFlags.add(fs)
		f.addSensitive(fs)
		f.varFlags.add(fs)
		f.stateFlags.addIn(fs)
		f.targetFlags.add(fs)
		f.Input.add(fs)
		addLimits(fs, &f.Limits)
		f.addDrift(fs)
		addDriftReport(fs, &f.report)
		f.addActions(fs)
		f.addProgress(fs)
		fs.BoolVar(&f.Document, "json", false, "Print a JSON document.")
		fs.Func("format", "Print in this `format`: text (the default) or markdown.", func(text string) error {
			f.Markdown = text == "markdown"
			return oneOf(text, []string{"text", "markdown"})
		})
	}, runDrift),
}

type driftFlags struct {
	planFlags
	Document, Markdown bool
	driftActions
	report reportFile[*driftview.Report]
}

// addDrift declares the options for which objects are read.
func (f *planFlags) addDrift(fs *options) {
	fs.Func("max-age", "Do not read objects that were last read within this `duration`, such as 30m, 24h or 7d.",
		func(text string) (err error) {
			f.Look.OlderThan, err = refresh.ParseAge(text)
			return err
		})
	fs.Func("types", "Read only objects of these `types` or providers, such as aws_instance, aws_iam_* or "+
		"hashicorp/aws, separated by commas. May be repeated.", f.Look.Types.Add)
	fs.Func("no-types", "Do not read objects of these `types` or providers. May be repeated.", f.Look.NotTypes.Add)
	f.Look.addVanished(fs, nil)
	f.Refresh, f.RefreshOnly, f.Look.Continue, f.Defer = true, true, true, true
}

// driftReport lists the changes outside, in one root module or in many.
type driftReport interface {
	JSON(io.Writer) error
	Markdown(io.Writer) error
}

// addDriftReport declares the option -report.
func addDriftReport[T driftReport](fs *options, r *reportFile[T]) {
	r.add(fs, "Also write the result to `path`: as JSON if it ends in .json, or as Markdown if in .md.",
		map[string]func(T, io.Writer) error{".json": T.JSON, ".md": T.Markdown})
}

func runDrift(ctx context.Context, app *App, f *driftFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	if f.Document && f.Markdown {
		return badUsage("Incompatible options", "-json and -format=markdown can't be used together.")
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	if acts, err := f.act(ctx, app, opts); acts || err != nil {
		return err
	}
	if f.Document || f.Markdown {
		app.onStderr()
	}
	op, err := app.StartOperation(ctx, f.operation(), session.OperationRead)
	if err != nil {
		return err
	}
	defer op.Close()
	report, err := fleet.DriftOf(ctx, op, *opts, f.ShowSensitive, app.Live.Event)
	if report == nil {
		return err
	}
	app.printOnStderr(app.Warnings.Take())
	switch {
	case f.Document:
		err = tfdiags.Join(err, report.JSON(app.Out))
	case f.Markdown:
		err = tfdiags.Join(err, report.Markdown(app.Out))
	default:
		err = tfdiags.Join(err, report.Text(app.textOut(), termtext.Style{On: app.Color}))
	}
	err = tfdiags.Join(err, f.report.write(report))
	switch {
	case err != nil:
		return err
	case len(report.Unread) > 0:
		return exitStatus(1)
	case report.Drifted:
		return exitStatus(2)
	}
	return nil
}
