package command

import (
	"context"

	"tofu/internal/backend/all"
	"tofu/internal/configs/blocks"
	"tofu/internal/configschema"
	encryption "tofu/internal/encryption/all"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdMetadata = &Command{
	Name: "metadata", Short: "Describe functions and backends to other programs",
	Long: "Commands that describe this program to other programs.",
	Sub:  []*Command{cmdMetadataFunctions, cmdMetadataBackends},
}

var cmdMetadataFunctions = &Command{
	Name: "functions", Short: "Describe the functions",
	Long: "Prints the signatures of all functions of the language as a JSON document.",
	New: with((*onlyJSONFlags).add, func(_ context.Context, app *App, f *onlyJSONFlags, _ []string) error {
		if err := f.check("metadata functions", nil); err != nil {
			return err
		}
		return ui.WriteFunctions(app.Out)
	}),
}

var cmdMetadataBackends = &Command{
	Name: "backends", Short: "Describe the backends and the key providers",
	Long: "Prints the arguments of all backends, and of all key providers that encrypt states, as a JSON document.",
	New: with((*onlyJSONFlags).add, func(_ context.Context, app *App, f *onlyJSONFlags, _ []string) error {
		if err := f.check("metadata backends", nil); err != nil {
			return err
		}
		backends, providers := make(map[string]*configschema.Block), make(map[string]*configschema.Block)
		for _, d := range all.Drivers() {
			backends[d.Name] = blocks.Schema(d.Config())
		}
		for name, d := range encryption.Registry().KeyProviders {
			providers[name] = blocks.Schema(d.Config())
		}
		return ui.WriteBackends(app.Out, backends, providers)
	}),
}

// onlyJSONFlags are the options of commands that can print only JSON but require -json anyway.
type onlyJSONFlags struct {
	viewFlags
	Document bool
}

func (f *onlyJSONFlags) add(fs *options) {
	f.viewFlags.add(fs)
	fs.BoolVar(&f.Document, "json", false, "Required: the output is a JSON document.")
}

func (f *onlyJSONFlags) check(command string, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	if !f.Document {
		return tfdiags.Errorf("The -json option is required",
			"`tofu %s` can only print a JSON document; call it with the -json option.", command)
	}
	return nil
}
