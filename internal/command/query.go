package command

import (
	"context"
	"fmt"

	"tofu/internal/atomicfile"
	"tofu/internal/configs"
	"tofu/internal/plans"
	"tofu/internal/query"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdQuery = &Command{
	Name: "query", Short: "Find existing objects",
	Long: `
Runs the list blocks in query files (*.tfquery.hcl) beside the configuration
and shows the objects that they find, each as soon as the provider sends it.
It changes nothing and takes no lock.

With -generate-config-out, it writes the blocks that import the objects; an
apply then brings them into the state. With -json, these blocks are part of
the output instead, and no file is written.`,
	New: with(func(f *queryFlags, fs *options) {
		f.operationFlags.add(fs)
		fs.StringVar(&f.GenerateConfig, "generate-config-out", "",
			"Write resource and import blocks for the objects to `path`, which must not exist.")
	}, runQuery),
}

type queryFlags struct {
	operationFlags
	GenerateConfig string
}

func runQuery(ctx context.Context, app *App, f *queryFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	if err := generateTarget(f.GenerateConfig, plans.Normal); err != nil {
		return err
	}
	app.Part = configs.Queries
	op, err := app.StartOperation(ctx, f.operation(), session.OperationRead)
	if err != nil {
		return err
	}
	defer op.Close()
	var imports query.Imports
	run := &query.Run{
		Config: op.Config.Config, Env: op.Env, Generate: f.GenerateConfig != "", Warn: app.Warnings.Add,
		Started: func(l query.List) {
			app.Printer.Message(ui.ListStarted{Addr: l.Addr, Type: l.Type, Config: l.Config})
		},
		Found: func(o *query.Object) {
			imports.Add(o)
			app.Printer.Message(ui.ListFound{Addr: o.List.Addr, Type: o.List.Type, DisplayName: o.DisplayName,
				Identity: o.Identity, IdentityText: query.IdentityText(o.Identity), IdentityVersion: o.IdentityVersion,
				Object: o.Object, Resource: o.Resource, Import: o.Import})
		},
		Finished: func(l query.List, total int) {
			app.Printer.Message(ui.ListFinished{Addr: l.Addr, Type: l.Type, Total: total})
		},
	}
	app.Live.Phase("Listing objects", 0)
	err = run.Do(terminal.UntilAbort(ctx), op.State.State(), op.Variables)
	app.Live.Phase("", 0)
	if f.GenerateConfig != "" && !f.JSON {
		err = tfdiags.Join(err, writeImports(app, f.GenerateConfig, &imports))
	}
	return err
}

// writeImports writes the blocks that import the found objects.
func writeImports(app *App, path string, imports *query.Imports) error {
	blocks, repeated := imports.Text()
	if blocks == "" {
		app.Note("No objects were found, so %s was not written.", path)
		return nil
	}
	text := "# __generated__ by OpenTofu\n# Please review these blocks and move them into your main configuration " +
		"files.\n\n" + blocks
	if err := atomicfile.WriteNamed(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the generated configuration: %w", err)
	}
	app.Note("The blocks that import these objects were written to %s. Review and complete\nthem; \"tofu plan\" shows "+
		"what an apply would import.", path)
	if repeated > 0 {
		app.Note("List blocks found %s again. Each has blocks in the file once,\nnamed after the first list block "+
			"that found it.", ui.Count(repeated, "object"))
	}
	return nil
}
