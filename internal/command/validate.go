package command

import (
	"context"
	"flag"
	"os"

	"tofu/internal/engine"
	"tofu/internal/getmodules"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdValidate = &Command{
	Name: "validate", Main: true, Short: "Check the configuration",
	Long: `
Checks the configuration in itself: syntax, names, types and what providers
say of it. Neither the state nor anything remote is looked at, and variables
need no values. Modules and providers must be installed; "tofu init
-backend=false" does that without touching the state.`,
	Flags: func(fs *flag.FlagSet) any {
		f := &validateFlags{}
		f.addColor(fs)
		f.addWarnings(fs)
		f.varFlags.add(fs)
		fs.BoolVar(&f.Document, "json", false, "Print the result as a JSON document.")
		fs.StringVar(&f.DocumentInto, "json-into", "", "Write the JSON document to `out.json`, beside the human-readable output.")
		fs.BoolVar(&f.NoTests, "no-tests", false, "Leave out test files.")
		fs.StringVar(&f.TestDirectory, "test-directory", "tests", "Look for test files in this `path` too.")
		return f
	},
	Run: runValidate,
}

type validateFlags struct {
	viewFlags
	varFlags
	Document      bool
	DocumentInto  string
	NoTests       bool
	TestDirectory string
}

func runValidate(ctx context.Context, app *App, flags any, args []string) error {
	f := flags.(*validateFlags)
	if err := noArguments(args); err != nil {
		return err
	}
	if f.Document && f.DocumentInto != "" {
		return badUsage("Incompatible options", "-json and -json-into can't be used together.")
	}
	app.Input = false
	diags := app.validate(ctx, f)
	if f.DocumentInto != "" {
		file, err := os.Create(f.DocumentInto)
		if err == nil {
			err = ui.WriteValidation(file, diags, app.source)
			_ = file.Close()
		}
		if err != nil {
			diags = diags.Append(err)
		}
	}
	if f.Document {
		if err := ui.WriteValidation(app.Out, diags, app.source); err != nil {
			return err
		}
	} else {
		app.Printer.Diagnostics(diags)
		switch {
		case diags.HasErrors():
		case len(diags) > 0:
			app.success("Success! The configuration is valid; see the warnings above.")
		default:
			app.success("Success! The configuration is valid.")
		}
	}
	if diags.HasErrors() {
		return exitStatus(1)
	}
	return nil
}

func (a *App) validate(ctx context.Context, f *validateFlags) tfdiags.Diagnostics {
	cfg, diags := a.loadConfig(ctx, f.varFlags)
	if diags.HasErrors() {
		return diags
	}
	if !f.NoTests {
		resolve, more := getmodules.Installed(a.modulesDir())
		diags = diags.Append(more)
		if !more.HasErrors() {
			_, more = a.loadTests(cfg, f.TestDirectory, resolve)
			diags = diags.Append(more)
		}
	}
	if diags.HasErrors() {
		return diags
	}
	running, more := a.openProviders(requirements(cfg.Config, nil))
	diags = diags.Append(more)
	if more.HasErrors() {
		return diags
	}
	defer running.close(a)
	workspace, err := a.workspace()
	if err != nil {
		return diags.Append(err)
	}
	env := a.environment(running, workspace)
	env.Observe = nil
	return diags.Append(engine.Validate(engineContext(ctx), cfg.Config, env))
}

// success prints a line that begins with a green word.
func (a *App) success(text string) {
	if a.color() && !a.view.JSON {
		text = "\x1b[32m\x1b[1m" + text[:len("Success!")] + "\x1b[0m" + text[len("Success!"):]
	}
	a.Printer.Message(ui.Text{Text: text})
}
