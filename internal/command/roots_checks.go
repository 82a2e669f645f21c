package command

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync/atomic"

	"tofu/internal/configs"
	"tofu/internal/parallel"
	"tofu/internal/plugin"
	"tofu/internal/roots"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdRootsValidate = &Command{
	Name: "validate", Args: "[DIR...]", Short: "Check the configuration of all root modules",
	Long: `
Does what "tofu validate" does in each root module below the directories, and
shows those with errors or warnings. The JSON form has the document of "tofu
validate -json" for each root module, by name.`,
	New: with(func(f *rootsValidateFlags, fs *options) {
		f.viewFlags.add(fs)
		f.addProgress(fs)
		f.varFlags.add(fs)
		fs.BoolVar(&f.Document, "json", false, "Write a JSON document with the result of each root module.")
		fs.BoolVar(&f.NoTests, "no-tests", false, "Leave out test files.")
		f.TestDirectory = configs.DefaultTestDirectory
		f.addWorkers(fs)
		f.addSelect(fs)
	}, runRootsValidate),
}

type rootsValidateFlags struct {
	validateFlags
	workerFlags
	selectFlags
}

func runRootsValidate(ctx context.Context, app *App, f *rootsValidateFlags, args []string) error {
	if f.Document {
		return f.writeDocument(ctx, app, args)
	}
	var valid atomic.Int32
	job := &rootsJob{app: app, workers: f.Workers, doing: "Validating", run: func(sub *App) error {
		err := sub.Validate(ctx, f.options())
		if err == nil {
			valid.Add(1)
		}
		return err
	}}
	err := job.each(ctx, &f.selectFlags, args)
	if err == nil {
		app.Success("Success! The configuration of " + ui.Count(int(valid.Load()), "root module") + " is valid.")
	}
	return err
}

// writeDocument writes the results of all root modules as a JSON document.
func (f *rootsValidateFlags) writeDocument(ctx context.Context, app *App, args []string) error {
	e, selected, err := f.find(ctx, app, args)
	if e == nil {
		return err
	}
	defer app.Session.SharePlugins(&plugin.Shared{})()
	defer app.ShareClients()()
	found := make([]tfdiags.Diagnostics, len(selected))
	parallel.Each(len(selected), f.Workers, func(i int) { found[i] = f.check(ctx, app, selected[i]) })
	all, valid := make(map[string]json.RawMessage, len(selected)), true
	for i, r := range selected {
		var text bytes.Buffer
		if err := ui.WriteValidation(&text, found[i], app.Source); err != nil {
			return err
		}
		all[r.Name] = text.Bytes()
		valid = valid && !found[i].HasErrors()
	}
	enc := json.NewEncoder(app.Out)
	enc.SetIndent("", "  ")
	switch encodeErr := enc.Encode(all); {
	case encodeErr != nil:
		return encodeErr
	case err != nil && !e.OnlyRootErrors(err):
		return err // an error about the estate as a whole
	case !valid:
		return exitStatus(1)
	}
	return nil
}

// check returns the errors and warnings of a root module.
func (f *rootsValidateFlags) check(ctx context.Context, app *App, r *roots.Root) tfdiags.Diagnostics {
	if r.Err != nil {
		return tfdiags.FromError(r.Err)
	}
	sub := app.at(r, io.Discard, app.Timings)
	defer sub.Close()
	err := sub.Validate(ctx, f.options())
	return sub.Warnings.Take().AppendError(err)
}

var cmdRootsTest = &Command{
	Name: "test", Args: "[DIR...]", Short: "Run the tests of many root modules",
	Long: "Does what \"tofu test\" does in each root module below the directories that has test files.",
	New: with(func(f *rootsTestFlags, fs *options) {
		f.viewFlags.add(fs)
		f.addProgress(fs)
		f.varFlags.add(fs)
		fs.StringVar(&f.TestDirectory, "test-directory", configs.DefaultTestDirectory,
			"Look for test files in this `path` of each root module too.")
		fs.BoolVar(&f.Verbose, "verbose", false, "Print the plan or the state of each run.")
		f.addWorkers(fs)
		f.addSelect(fs)
	}, runRootsTest),
}

type rootsTestFlags struct {
	testFlags
	workerFlags
	selectFlags
}

func runRootsTest(ctx context.Context, app *App, f *rootsTestFlags, args []string) error {
	var tested atomic.Int32
	job := &rootsJob{app: app, workers: f.Workers, doing: "Testing", run: func(sub *App) error {
		files, err := sub.Parser.TestFiles(sub.RootDir, f.TestDirectory, tfdiags.Drop)
		if err == nil && len(files) == 0 {
			return nil
		}
		tested.Add(1)
		one := f.testFlags // a copy for this root module; runTest returns the error in err again, if any
		return runTest(ctx, sub, &one)
	}}
	err := job.each(ctx, &f.selectFlags, args)
	switch n := int(tested.Load()); {
	case err != nil:
	case n == 0:
		app.Say("No root module has test files.")
	default:
		app.Say("\nThe tests of %s passed.", ui.Count(n, "root module"))
	}
	return err
}
