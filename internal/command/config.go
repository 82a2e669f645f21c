package command

import (
	"context"
	"os"
	"path/filepath"

	"tofu/internal/configs"
	"tofu/internal/configs/inputs"
	"tofu/internal/getmodules"
	"tofu/internal/moduletest"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// loaded is a configuration with the values that its root variables were given.
type loaded struct {
	*configs.Config
	given map[string]configs.Given
	tests *moduletest.Suite // nil where it wasn't asked for
}

// loadConfig loads the root module and all installed modules. There is a configuration unless the diagnostics have errors.
func (a *App) loadConfig(ctx context.Context, vars varFlags) (*loaded, tfdiags.Diagnostics) {
	given, diags := a.collect(vars)
	if diags.HasErrors() {
		return nil, diags
	}
	cfg, more := a.loadConfigGiven(ctx, given)
	return cfg, diags.Append(more)
}

// loadConfigGiven is loadConfig with values that were collected before.
func (a *App) loadConfigGiven(ctx context.Context, given map[string]configs.Given) (*loaded, tfdiags.Diagnostics) {
	resolve, diags := getmodules.Installed(a.modulesDir())
	if diags.HasErrors() {
		return nil, diags
	}
	cfg, more := a.load(ctx, given, resolve, configs.LoadRoot)
	return cfg, diags.Append(more)
}

// loadRootModule loads the root module alone: enough for the backend, the encryption and the variables. Its warnings are left to the
// commands that are about the configuration itself; others would print them among values that programs read.
func (a *App) loadRootModule(ctx context.Context, vars varFlags) (*loaded, tfdiags.Diagnostics) {
	given, diags := a.collect(vars)
	if diags.HasErrors() {
		return nil, diags
	}
	cfg, diags := a.load(ctx, given, nil, configs.LoadRootModule)
	if diags.HasErrors() {
		return nil, diags
	}
	return cfg, nil
}

// collect finds the values that are given for root variables.
func (a *App) collect(vars varFlags) (map[string]configs.Given, tfdiags.Diagnostics) {
	return inputs.Collect(a.parser, inputs.Options{Environ: a.Environ, Dir: a.rootDir, Flags: vars.Vars})
}

// load loads a configuration. Values that static evaluation had to ask for are added to those given, so that each is asked for once.
func (a *App) load(ctx context.Context, given map[string]configs.Given, resolve configs.Resolver,
	from func(string, *configs.LoadOptions) (*configs.Config, tfdiags.Diagnostics)) (*loaded, tfdiags.Diagnostics) {
	defer a.timings.Phase("configuration")()
	workspace, err := a.workspace()
	if err != nil {
		return nil, tfdiags.Diagnostics{}.Append(err)
	}
	cfg, diags := from(a.rootDir, &configs.LoadOptions{
		Parser: a.parser, Variables: given, Workspace: workspace, WorkDir: a.WorkDir, Resolve: resolve,
		Ask: func(v *configs.Variable) (configs.Given, error) {
			g, err := a.askVariable(ctx, v)
			if err == nil {
				given[v.Name] = g
			}
			return g, err
		},
	})
	if diags.HasErrors() {
		return nil, diags
	}
	return &loaded{Config: cfg, given: given}, diags
}

func (a *App) modulesDir() string { return filepath.Join(a.DataDir, "modules") }

// requireConfig is the error of a command that needs a configuration in a directory that has none.
func (a *App) requireConfig() error { return a.requireConfigBut("") }

// requireConfigFor is the same for a plan. One that is to destroy everything needs none.
func (a *App) requireConfigFor(mode plans.Mode) error {
	if mode == plans.Destroy {
		return nil
	}
	return a.requireConfigBut(" Without a configuration, everything in the state would be destroyed; \"tofu destroy\" does that.")
}

func (a *App) requireConfigBut(advice string) error {
	if a.parser.IsModuleDir(a.rootDir) {
		return nil
	}
	dir, err := filepath.Abs(a.rootDir)
	if err != nil {
		dir = a.rootDir
	}
	return tfdiags.Diagnostics{tfdiags.Errorf("No configuration files",
		"The directory %s has no configuration files, whose names end in .tf, .tofu, .tf.json or .tofu.json. Run the command where they are, or name their directory with the global option -chdir=DIR.%s", dir, advice)}.Err()
}

// source gives the text of a configuration file for excerpts in diagnostics.
func (a *App) source(name string) []byte {
	if src, ok := a.snapshot[name]; ok {
		return src
	}
	if src := a.parser.Source(name); src != nil {
		return src
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil // an excerpt is a convenience
	}
	return src
}
