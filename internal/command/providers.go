package command

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/providers"
	"tofu/internal/ui"
)

var cmdProviders = &Command{
	Name: "providers", Short: "Show the providers required for this configuration",
	Long: `
Shows which providers each module requires, in a tree of the modules, and
which ones the objects in the state need besides.`,
	Flags: func(fs *flag.FlagSet) any {
		f := &providersFlags{}
		f.addColor(fs)
		f.varFlags.add(fs)
		fs.StringVar(&f.TestDirectory, "test-directory", "tests", "Look for test files in this `path` too.")
		return f
	},
	Run: runProviders,
	Sub: []*Command{cmdProvidersLock, cmdProvidersMirror, cmdProvidersSchema},
}

type providersFlags struct {
	viewFlags
	varFlags
	TestDirectory string
}

func runProviders(ctx context.Context, app *App, flags any, args []string) error {
	f := flags.(*providersFlags)
	if len(args) > 0 {
		return badUsage("Too many command line arguments", "The providers command has no subcommand %q and takes no other arguments.", args[0])
	}
	if err := app.requireConfig(); err != nil {
		return err
	}
	cfg, diags := app.loadConfig(ctx, f.varFlags)
	if diags.HasErrors() {
		return diags.Err()
	}
	open, more := app.openState(ctx, stateRequest{vars: f.varFlags})
	diags = diags.Append(more)
	if diags.HasErrors() {
		return diags.Err()
	}
	defer func() { app.Printer.Diagnostics(open.close()) }()
	byModule := make(map[addrs.Module][]configs.Requirement)
	all := cfg.ProviderRequirements()
	for _, p := range sortedProviders(all) {
		for _, r := range all[p] {
			r.Provider = p
			byModule[r.Module] = append(byModule[r.Module], r)
		}
	}
	fmt.Fprint(app.Out, "\nProviders required by configuration:\n.\n")
	var tree strings.Builder
	moduleTree(&tree, cfg.Config, byModule, "")
	fmt.Fprintln(app.Out, tree.String())
	if used := requirements(nil, open.State()).Providers(); len(used) > 0 {
		fmt.Fprint(app.Out, "Providers required by state:\n\n")
		for _, p := range used {
			fmt.Fprintf(app.Out, "    provider[%s]\n\n", p)
		}
	}
	return app.done(diags)
}

// moduleTree draws a module's requirements and the modules below it.
func moduleTree(b *strings.Builder, cfg *configs.Config, byModule map[addrs.Module][]configs.Requirement, indent string) {
	list := byModule[cfg.Path]
	children := sortedKeys(cfg.Children)
	for i, r := range list {
		branch := "├── "
		if i == len(list)-1 && len(children) == 0 {
			branch = "└── "
		}
		line := fmt.Sprintf("provider[%s]", r.Provider)
		if text := depsfile.ConstraintsString(r.Constraints); text != "" {
			line += " " + text
		}
		b.WriteString(indent + branch + line + "\n")
	}
	for i, name := range children {
		branch, below := "├── ", "│   "
		if i == len(children)-1 {
			branch, below = "└── ", "    "
		}
		b.WriteString(indent + branch + "module." + name + "\n")
		moduleTree(b, cfg.Children[name], byModule, indent+below)
	}
}

var cmdProvidersSchema = &Command{
	Name: "schema", Short: "Show schemas for the providers used in the configuration",
	Long: "Prints the schemas of all providers that the configuration and the state use, as a JSON document.",
	Flags: func(fs *flag.FlagSet) any {
		f := &schemaFlags{}
		f.documentFlags.add(fs)
		f.varFlags.add(fs)
		return f
	},
	Run: func(ctx context.Context, app *App, flags any, args []string) error {
		f := flags.(*schemaFlags)
		if err := f.check("providers schema", args); err != nil {
			return err
		}
		cfg, diags := app.loadConfig(ctx, f.varFlags)
		if diags.HasErrors() {
			return diags.Err()
		}
		open, more := app.openState(ctx, stateRequest{vars: f.varFlags})
		diags = diags.Append(more)
		if diags.HasErrors() {
			return diags.Err()
		}
		defer func() { app.Printer.Diagnostics(open.close()) }()
		reqs := requirements(cfg.Config, open.State())
		running, more := app.openProviders(reqs)
		if diags = diags.Append(more); more.HasErrors() {
			return diags.Err()
		}
		defer running.close(app)
		schemas, more := running.fetchSchemas(ctx, reqs.Providers())
		if diags = diags.Append(more); diags.HasErrors() {
			return diags.Err()
		}
		found := make(map[addrs.Provider]*providers.Schema, len(reqs))
		for _, p := range reqs.Providers() {
			found[p] = schemas(p)
		}
		app.warn(diags)
		return ui.WriteSchemas(app.Out, found)
	},
}

type schemaFlags struct {
	documentFlags
	varFlags
}
