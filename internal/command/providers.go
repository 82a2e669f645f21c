package command

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/getmodules"
	"tofu/internal/moduletest"
	"tofu/internal/providers"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/termtext"
)

var cmdProviders = &Command{
	Name: "providers", Short: "Show which providers are required, and by what",
	Long: `
Shows a tree of the modules with the providers that each of them requires, and
the providers that the objects in the state require.`,
	New: with(func(f *providersFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		f.testsFlag.add(fs)
	}, runProviders),
	Sub: []*Command{cmdProvidersLock, cmdProvidersMirror, cmdProvidersSchema, cmdProvidersVerify},
}

type providersFlags struct {
	viewFlags
	varFlags
	testsFlag
}

// testsFlag selects the tests whose providers count as required.
type testsFlag struct{ TestDirectory string }

func (f *testsFlag) add(fs *options) {
	fs.StringVar(&f.TestDirectory, "test-directory", configs.DefaultTestDirectory,
		"Look for test files in this `path` too.")
}

// load loads a configuration with its tests, as far as its modules are installed or local.
func (f *testsFlag) load(
	ctx context.Context, s *session.Session, vars session.Variables,
) (*session.Config, *moduletest.Suite, error) {
	cfg, err := s.LoadInstalled(ctx, vars)
	if err != nil {
		return nil, nil, err
	}
	resolve, err := getmodules.InstalledOrLocal(s.ModulesDir(), s.Base)
	if err != nil {
		return nil, nil, err
	}
	suite, err := s.LoadTests(ctx, cfg, f.TestDirectory, resolve)
	return cfg, suite, err
}

// requirements returns the providers that a configuration and its tests require.
func (f *testsFlag) requirements(
	ctx context.Context, s *session.Session, vars session.Variables,
) (depsfile.Requirements, error) {
	_, suite, err := f.load(ctx, s, vars)
	if err != nil {
		return nil, err
	}
	reqs := make(depsfile.Requirements)
	session.AddTestRequirements(reqs, suite)
	return reqs, nil
}

func runProviders(ctx context.Context, app *App, f *providersFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	if err := session.RequireConfig(app.Parser, app.RootDir); err != nil {
		return err
	}
	cfg, suite, err := f.load(ctx, app.Session, f.Variables)
	if err != nil {
		return err
	}
	used, err := stateProviders(ctx, app.Session, cfg, f.Variables)
	if err != nil {
		return err
	}
	tree := requirementTree(cfg.Config)
	tree.below = append(testTrees(suite), tree.below...)
	var text strings.Builder
	tree.draw(&text, "")
	fmt.Fprintf(app.Out, "\nProviders required by configuration:\n.\n%s\n", termtext.Printable(text.String()))
	if len(used) > 0 {
		fmt.Fprint(app.Out, "Providers required by state:\n\n")
		for _, p := range used {
			fmt.Fprintf(app.Out, "    provider[%s]\n\n", p)
		}
	}
	return nil
}

// stateProviders returns the providers that the state requires. If the backend was never set up in
// this directory, it returns none and adds a warning.
func stateProviders(
	ctx context.Context, s *session.Session, cfg *session.Config, vars session.Variables,
) ([]addrs.Provider, error) {
	record, err := s.ReadBackendRecord()
	if err != nil {
		return nil, err
	}
	if record == nil && (cfg.Module.Backend != nil || cfg.Module.Cloud != nil) {
		s.Warnings.Add(tfdiags.Warningf("The state was not read",
			"The backend is not set up in this directory, so providers that only the state requires are not listed. "+
				"Run %q to set it up.", s.InitCommand))
		return nil, nil
	}
	open, err := s.OpenState(ctx, session.StateRequest{Vars: vars})
	if err != nil {
		return nil, err
	}
	defer s.Release(open)
	return session.Requirements(nil, open.State()).Providers(), nil
}

// requiring is a module, test file or run that requires providers.
type requiring struct {
	name      string
	providers []string // provider addresses with their constraints
	below     []*requiring
}

// requirementTree returns the requirements of a module and the modules that it calls.
func requirementTree(root *configs.Config) *requiring {
	byModule := make(map[addrs.Module][]string)
	all := root.ProviderRequirements()
	for _, p := range sortedProviders(all) {
		for _, r := range all[p] {
			line := fmt.Sprintf("provider[%s]", p)
			if text := depsfile.ConstraintsString(r.Constraints); text != "" {
				line += " " + text
			}
			byModule[r.Module] = append(byModule[r.Module], line)
		}
	}
	var of func(cfg *configs.Config) *requiring
	of = func(cfg *configs.Config) *requiring {
		out := &requiring{providers: byModule[cfg.Path]}
		for _, name := range sortedKeys(cfg.Children) {
			child := of(cfg.Children[name])
			child.name = "module." + name
			out.below = append(out.below, child)
		}
		return out
	}
	return of(root)
}

// testTrees returns the additional requirements of test files: the providers that the files
// configure, and the requirements of the modules that their runs use.
func testTrees(suite *moduletest.Suite) []*requiring {
	var out []*requiring
	for _, file := range suite.Files {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.ToSlash(file.Name), ".json"), ".hcl")
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".tftest"), ".tofutest")
		node := &requiring{name: "test." + strings.ReplaceAll(name, "/", ".")}
		for _, p := range suite.Configured(file) {
			node.providers = append(node.providers, fmt.Sprintf("provider[%s]", p))
		}
		for _, run := range file.Runs {
			if cfg := suite.Own(run); cfg != nil {
				below := requirementTree(cfg)
				below.name = "run." + run.Name
				node.below = append(node.below, below)
			}
		}
		out = append(out, node)
	}
	return out
}

// draw writes the requirements of r as branches of a tree.
func (r *requiring) draw(b *strings.Builder, indent string) {
	for i, line := range r.providers {
		branch := "├── "
		if i == len(r.providers)-1 && len(r.below) == 0 {
			branch = "└── "
		}
		b.WriteString(indent + branch + line + "\n")
	}
	for i, child := range r.below {
		branch, deeper := "├── ", "│   "
		if i == len(r.below)-1 {
			branch, deeper = "└── ", "    "
		}
		b.WriteString(indent + branch + child.name + "\n")
		child.draw(b, indent+deeper)
	}
}

var cmdProvidersSchema = &Command{
	Name: "schema", Short: "Describe the resource types and functions of the providers",
	Long: "Prints the schemas of all providers that the configuration and the state use, as a JSON document.",
	New: with(func(f *schemaFlags, fs *options) {
		f.onlyJSONFlags.add(fs)
		f.varFlags.add(fs)
	}, func(ctx context.Context, app *App, f *schemaFlags, args []string) error {
		if err := f.check("providers schema", args); err != nil {
			return err
		}
		cfg, err := app.LoadInstalled(ctx, f.Variables)
		if err != nil {
			return err
		}
		open, err := app.OpenState(ctx, session.StateRequest{Vars: f.Variables})
		if err != nil {
			return err
		}
		defer app.Release(open)
		reqs := session.Requirements(cfg.Config, open.State())
		running, err := app.OpenProviders(reqs)
		if err != nil {
			return err
		}
		defer running.Close()
		schemas, err := running.FetchSchemas(ctx, reqs.Providers())
		if err != nil {
			return err
		}
		found := make(map[addrs.Provider]*providers.Schema, len(reqs))
		for _, p := range reqs.Providers() {
			found[p] = schemas(p)
		}
		app.printOnStderr(app.Warnings.Take())
		return ui.WriteSchemas(app.Out, found)
	}),
}

type schemaFlags struct {
	onlyJSONFlags
	varFlags
}
