package session

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
type Config struct {
	*configs.Config
	Given map[string]configs.Given
	Tests *moduletest.Suite // nil where it wasn't asked for
}

// loadConfig loads the root module and all installed modules. There is a configuration unless the diagnostics have errors.
func (s *Session) LoadConfig(ctx context.Context, vars Variables) (*Config, tfdiags.Diagnostics) {
	given, diags := s.Collect(vars)
	if diags.HasErrors() {
		return nil, diags
	}
	cfg, more := s.LoadConfigWith(ctx, given)
	return cfg, diags.Append(more...)
}

// loadConfigGiven is loadConfig with values that were collected before.
func (s *Session) LoadConfigWith(ctx context.Context, given map[string]configs.Given) (*Config, tfdiags.Diagnostics) {
	resolve, diags := getmodules.Installed(s.ModulesDir())
	if diags.HasErrors() {
		return nil, diags
	}
	cfg, more := s.Load(ctx, given, resolve)
	return cfg, diags.Append(more...)
}

// loadRootModule loads the root module alone: enough for the backend, the encryption and the variables. Its warnings are left to the
// commands that are about the configuration itself; others would print them among values that programs read.
func (s *Session) LoadRootModule(ctx context.Context, vars Variables) (*Config, tfdiags.Diagnostics) {
	given, diags := s.Collect(vars)
	if diags.HasErrors() {
		return nil, diags
	}
	cfg, diags := s.LoadRootModuleWith(ctx, given)
	if diags.HasErrors() {
		return nil, diags
	}
	return cfg, nil
}

// collect finds the values that are given for root variables.
func (s *Session) Collect(vars Variables) (map[string]configs.Given, tfdiags.Diagnostics) {
	return inputs.Collect(s.Parser, inputs.Options{Environ: s.Environ, Dir: s.RootDir, Flags: vars.Vars})
}

// Load loads a configuration with the modules that resolve finds.
func (s *Session) Load(ctx context.Context, given map[string]configs.Given, resolve configs.Resolver) (*Config, tfdiags.Diagnostics) {
	return s.load(ctx, given, func(opts *configs.LoadOptions) (*configs.Config, tfdiags.Diagnostics) {
		opts.Resolve = resolve
		return configs.LoadRoot(ctx, s.RootDir, opts)
	})
}

// LoadRootModuleWith loads the root module alone, with values that were collected before.
func (s *Session) LoadRootModuleWith(ctx context.Context, given map[string]configs.Given) (*Config, tfdiags.Diagnostics) {
	return s.load(ctx, given, func(opts *configs.LoadOptions) (*configs.Config, tfdiags.Diagnostics) {
		return configs.LoadRootModule(s.RootDir, opts)
	})
}

// load loads a configuration. Values that static evaluation asks for are added to given, so that each is asked for
// just once.
func (s *Session) load(ctx context.Context, given map[string]configs.Given,
	from func(*configs.LoadOptions) (*configs.Config, tfdiags.Diagnostics)) (*Config, tfdiags.Diagnostics) {
	defer s.Timings.Phase("configuration")()
	workspace, err := s.Workspace()
	if err != nil {
		return nil, tfdiags.FromError(err)
	}
	cfg, diags := from(&configs.LoadOptions{
		Parser: s.Parser, Variables: given, Workspace: workspace, WorkDir: s.WorkDir,
		Ask: func(v *configs.Variable) (configs.Given, error) {
			g, err := s.askVariable(ctx, v)
			if err == nil {
				given[v.Name] = g
			}
			return g, err
		},
	})
	if diags.HasErrors() {
		return nil, diags
	}
	return &Config{Config: cfg, Given: given}, diags
}

func (s *Session) ModulesDir() string { return filepath.Join(s.DataDir, "modules") }

// requireConfig is the error of a command that needs a configuration in a directory that has none.
func (s *Session) RequireConfig() error { return s.requireConfigBut("") }

// requireConfigFor is the same for a plan. One that is to destroy everything needs none.
func (s *Session) RequireConfigFor(mode plans.Mode) error {
	if mode == plans.Destroy {
		return nil
	}
	return s.requireConfigBut(" Without a configuration, everything in the state would be destroyed; \"tofu destroy\" does that.")
}

func (s *Session) requireConfigBut(advice string) error {
	if s.Parser.IsModuleDir(s.RootDir) {
		return nil
	}
	dir, err := filepath.Abs(s.RootDir)
	if err != nil {
		dir = s.RootDir
	}
	return tfdiags.Errorf("No configuration files",
		"The directory %s has no configuration files, whose names end in .tf, .tofu, .tf.json or .tofu.json. Run the command where they are, or name their directory with the global option -chdir=DIR.%s", dir, advice).Err()
}

// source gives the text of a configuration file for excerpts in diagnostics.
func (s *Session) Source(name string) []byte {
	if src, ok := s.Snapshot[name]; ok {
		return src
	}
	if src := s.Parser.Source(name); src != nil {
		return src
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil // an excerpt is a convenience
	}
	return src
}
