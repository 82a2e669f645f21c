package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tofu/internal/configs"
)

var cmdModules = &Command{
	Name: "modules", Short: "List the modules that the configuration calls",
	Long: `
Lists the modules that the configuration calls, with their sources and
versions, and the version constraints in parentheses. Modules that are not local
must be installed.`,
	New: with(func(f *modulesFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		fs.BoolVar(&f.Document, "json", false, "Print a JSON document.")
	}, runModules),
}

type modulesFlags struct {
	viewFlags
	varFlags
	Document bool
}

// listedModule is a module in the document of `modules -json`.
type listedModule struct {
	Key     string `json:"key"`
	Source  string `json:"source"`
	Version string `json:"version"`
}

func runModules(ctx context.Context, app *App, f *modulesFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	app.Input = false
	cfg, err := app.LoadInstalled(ctx, f.Variables)
	if err != nil {
		return err
	}
	if f.Document {
		doc := struct {
			Format  string         `json:"format_version"`
			Modules []listedModule `json:"modules"`
		}{"1.0", []listedModule{}}
		for m := range cfg.AllModules() {
			if m.Parent != nil {
				doc.Modules = append(doc.Modules, listedModule{m.Call.Name, sourceOf(m), m.Version})
			}
		}
		return json.NewEncoder(app.Out).Encode(doc)
	}
	if len(cfg.Children) == 0 {
		_, err := fmt.Fprintln(app.Out, "The configuration calls no modules.")
		return err
	}
	var b strings.Builder
	b.WriteString("Modules declared by configuration:\n\n.\n")
	moduleTree(&b, cfg.Config, "")
	_, err = fmt.Fprint(app.Out, b.String())
	return err
}

// sourceOf returns the source of a module as it is written.
func sourceOf(m *configs.Config) string { return cmp.Or(m.SourceText, m.Source) }

// moduleTree writes the modules below cfg as a tree.
func moduleTree(b *strings.Builder, cfg *configs.Config, indent string) {
	names := slices.Sorted(maps.Keys(cfg.Children))
	for i, name := range names {
		branch, below := "├── ", "│   "
		if i == len(names)-1 {
			branch, below = "└── ", "    "
		}
		m := cfg.Children[name]
		fmt.Fprintf(b, "%s%s%q[%s]", indent, branch, name, sourceOf(m))
		if m.Version != "" {
			fmt.Fprintf(b, " %s", m.Version)
		}
		if text := cfg.VersionText(name); text != "" {
			fmt.Fprintf(b, " (%s)", text)
		}
		b.WriteByte('\n')
		moduleTree(b, m, indent+below)
	}
}
