package session

import (
	"context"
	"maps"
	"path/filepath"

	"tofu/internal/atomicfile"
	"tofu/internal/configs"
	"tofu/internal/configs/inputs"
	"tofu/internal/getmodules"
	"tofu/internal/moduletest"
	"tofu/internal/plans"
	"tofu/internal/query"
	"tofu/internal/tfdiags"
)

// Config is a configuration together with the given values of its root variables.
type Config struct {
	*configs.Config
	Given map[string]configs.Given
	Tests *moduletest.Suite // nil unless the command loads tests
}

// LoadConfig loads the root module and all installed modules, for commands that evaluate them.
func (s *Session) LoadConfig(ctx context.Context, given map[string]configs.Given) (*Config, error) {
	resolve, err := getmodules.Installed(s.ModulesDir(), s.Base)
	if err != nil {
		return nil, err
	}
	return s.load(ctx, given, func(opts *configs.LoadOptions) (*configs.Config, error) {
		opts.Resolve, opts.Moves = resolve, true
		return configs.LoadRoot(ctx, s.RootDir, opts, s.Warnings.Add)
	})
}

// LoadInstalled loads the root module and all modules that are installed or local, for commands that
// only show them. If the source of a module depends on a variable without a value, the module is the installed one.
func (s *Session) LoadInstalled(ctx context.Context, vars Variables) (*Config, error) {
	given, err := s.Collect(vars)
	if err != nil {
		return nil, err
	}
	resolve, err := getmodules.InstalledOrLocal(s.ModulesDir(), s.Base)
	if err != nil {
		return nil, err
	}
	return s.LoadUnset(ctx, given, resolve)
}

// LoadRootModule loads only the root module, which is enough to evaluate the backend, encryption
// and variables, and evaluates nothing yet. If there is no error, it drops the warnings. Commands that check the configuration
// report them when they load the whole configuration. Other commands don't report them, because
// programs often read the output of these commands.
func (s *Session) LoadRootModule(ctx context.Context, vars Variables) (*Config, error) {
	given, err := s.Collect(vars)
	if err != nil {
		return nil, err
	}
	return s.LoadRootModuleWith(ctx, given)
}

// LoadForState is like [Session.LoadRootModule], for commands that need only the place of the state.
// It reads no blocks of resources and data sources, which can be most of a configuration.
// An error in a variable file that the command line doesn't name matters only if a setting of the
// backend or the encryption refers to a variable.
func (s *Session) LoadForState(ctx context.Context, vars Variables) (*Config, error) {
	var incomplete error
	given, err := s.collect(vars, func(err error) { incomplete = err })
	if err != nil {
		return nil, err
	}
	return s.loadRootModule(ctx, given, configs.Settings, incomplete)
}

// Collect returns the values that the user has given for root variables.
func (s *Session) Collect(vars Variables) (map[string]configs.Given, error) {
	return s.collect(vars, nil)
}

func (s *Session) collect(vars Variables, later func(error)) (map[string]configs.Given, error) {
	given, err := inputs.Collect(s.Parser, inputs.Options{Environ: s.Environ, Dir: s.RootDir,
		Files: s.Preset.VarFiles, Values: s.Preset.Variables, Flags: vars.Vars, Defer: later})
	s.ignoreOthers(given)
	return given, err
}

// CollectFor returns the values for an apply of a saved plan: those of options, and values of all
// sources for variables whose values the plan doesn't have. Other values in the environment or in
// files are not meant for this plan.
func (s *Session) CollectFor(plan *plans.Plan, vars Variables) (map[string]configs.Given, error) {
	given, err := inputs.Collect(s.Parser, inputs.Options{Flags: vars.Vars})
	s.ignoreOthers(given)
	names := plan.NotStored()
	if err != nil || len(names) == 0 {
		return given, err
	}
	all, err := s.Collect(vars)
	for _, name := range names {
		if value, ok := all[name]; ok {
			given[name] = value
		}
	}
	return given, err
}

// collectRest is like [Session.Collect]. If plan isn't nil, the values are those of the plan and those
// that [Session.CollectFor] returns.
func (s *Session) collectRest(plan *plans.Plan, vars Variables) (map[string]configs.Given, error) {
	if plan == nil {
		return s.Collect(vars)
	}
	given, err := s.CollectFor(plan, vars)
	stored := storedVariables(plan)
	maps.Copy(stored, given)
	return stored, err
}

// Load loads a configuration with the modules that resolve returns.
func (s *Session) Load(
	ctx context.Context, given map[string]configs.Given, resolve configs.Resolver,
) (*Config, error) {
	return s.load(ctx, given, func(opts *configs.LoadOptions) (*configs.Config, error) {
		opts.Resolve = resolve
		return configs.LoadRoot(ctx, s.RootDir, opts, s.Warnings.Add)
	})
}

// LoadUnset is like [Session.Load], but variables without a value are unknown in what is evaluated
// without the engine, such as the sources of modules.
func (s *Session) LoadUnset(
	ctx context.Context, given map[string]configs.Given, resolve configs.Resolver,
) (*Config, error) {
	return s.load(ctx, given, func(opts *configs.LoadOptions) (*configs.Config, error) {
		opts.Resolve, opts.Unset = resolve, true
		return configs.LoadRoot(ctx, s.RootDir, opts, s.Warnings.Add)
	})
}

// LoadRootModuleWith is like [Session.LoadRootModule], but uses values that were already
// collected.
func (s *Session) LoadRootModuleWith(ctx context.Context, given map[string]configs.Given) (*Config, error) {
	return s.loadRootModule(ctx, given, configs.Whole, nil)
}

func (s *Session) loadRootModule(
	ctx context.Context, given map[string]configs.Given, part configs.Part, incomplete error,
) (*Config, error) {
	var warnings tfdiags.Diagnostics
	cfg, err := s.load(ctx, given, func(opts *configs.LoadOptions) (*configs.Config, error) {
		if opts.Incomplete = incomplete; part != configs.Whole {
			opts.Part = part
		}
		return configs.LoadRootModule(s.RootDir, opts, warnings.Add)
	})
	if err != nil {
		s.Warnings.Add(warnings...)
	}
	return cfg, err
}

// load loads a configuration. If the user is asked for a value, load adds it to the map given, so
// that the question is not repeated.
func (s *Session) load(ctx context.Context, given map[string]configs.Given,
	from func(*configs.LoadOptions) (*configs.Config, error)) (*Config, error) {
	defer s.Timings.Phase("configuration")()
	workspace, err := s.Workspace()
	if err != nil {
		return nil, err
	}
	cfg, err := from(&configs.LoadOptions{
		Parser: s.Parser, Part: s.Part, Variables: given, Workspace: workspace, WorkDir: s.WorkDir, Base: s.Base,
		InitCommand: s.InitCommand, Read: s.FileRead,
		Ask: func(v *configs.Variable) (configs.Given, error) {
			g, err := asker{s.Terminal, s.Input}.ask(ctx, v)
			if err == nil {
				given[v.Name] = g
			}
			return g, err
		},
	})
	if err != nil {
		return nil, query.Translate(err)
	}
	s.stores = s.stores || storesData(cfg)
	return &Config{Config: cfg, Given: given}, nil
}

// RequireConfig returns an error if the directory dir has no configuration.
func RequireConfig(parser *configs.Parser, dir string) error {
	return requireConfigBut(parser, dir, "")
}

// RequireConfigFor is like RequireConfig, but always returns nil for a destroy plan, which needs no
// configuration.
func RequireConfigFor(mode plans.Mode, parser *configs.Parser, dir string) error {
	if mode == plans.Destroy {
		return nil
	}
	return requireConfigBut(parser, dir, " Without a configuration, everything in the state would be destroyed; \"tofu "+
		"destroy\" does that.")
}

// requireConfigBut returns an error if the directory dir has no configuration. The error message
// ends with advice.
func requireConfigBut(parser *configs.Parser, dir, advice string) error {
	if parser.IsModuleDir(dir) {
		return nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	return tfdiags.Errorf("No configuration files",
		"The directory %s has no configuration files (*.tf, *.tofu, *.tf.json or *.tofu.json). Run the command "+
			"in the directory that has them, or specify that directory with the global option -chdir=DIR.%s", abs,
		advice)
}

// Source returns the content of a configuration file for excerpts in diagnostics, or nil if the
// file can't be read.
func (s *Session) Source(name string) []byte {
	if src, ok := s.Snapshot[name]; ok {
		return src
	}
	if src := s.Parser.Source(name); src != nil {
		return src
	}
	src, err := atomicfile.Read(name)
	if err != nil {
		return nil // without the content, no excerpt is shown
	}
	return src
}
