package session

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile/install"
	"tofu/internal/engine"
	"tofu/internal/getmodules"
	"tofu/internal/lang"
	"tofu/internal/lint"
	"tofu/internal/moduletest"
	"tofu/internal/query"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

// ValidateOptions are the options of [Session.Validate].
type ValidateOptions struct {
	Variables Variables
	Lint      *lint.Selection
	NoTests   bool   // leave out test files
	Query     bool   // validate query files, too
	Tests     string // the directory of test files besides the root module's; usually "tests"
}

// Validate checks the configuration of a root module, and its tests. It reads neither the state nor
// objects.
func (s *Session) Validate(ctx context.Context, opts ValidateOptions) error {
	resolve, err := getmodules.InstalledOrLocal(s.ModulesDir(), s.Base)
	if err != nil {
		return err
	}
	if opts.Query {
		s.Part = configs.Queries
	}
	given, err := s.Collect(opts.Variables)
	var cfg *Config
	if err == nil {
		cfg, err = s.Load(ctx, given, resolve)
	}
	if err != nil {
		if opts.NoTests || !s.Parser.IsModuleDir(s.RootDir) {
			return err
		}
		_, testErr := s.Parser.TestFiles(s.RootDir, opts.Tests, s.Warnings.Add)
		return tfdiags.Join(err, testErr)
	}
	s.Warnings.Add(lint.Check(cfg.Config, s.Parser, opts.Lint)...)
	backendErr := s.validateBackend(ctx, cfg)
	reqs, subjects := Requirements(cfg.Config, nil), []moduletest.Subject{{Dir: s.RootDir, Config: cfg.Config}}
	if !opts.NoTests {
		suite, err := s.LoadTests(ctx, cfg, opts.Tests, resolve)
		if err != nil {
			return tfdiags.Join(backendErr, err)
		}
		if err := suite.Check(); err != nil {
			return tfdiags.Join(backendErr, err)
		}
		AddTestRequirements(reqs, suite)
		subjects = suite.Subjects()
	}
	// Any locked version is accepted: the lock file is not part of the configuration, so
	// validate does not check it against the constraints.
	running, err := s.OpenProviders(reqs.InAnyVersion())
	if err != nil {
		return tfdiags.Join(backendErr, install.ForValidate(err))
	}
	defer running.Close()
	workspace, err := s.Workspace()
	if err != nil {
		return err
	}
	env := s.Environment(running, workspace)
	env.Observe = nil
	errs := tfdiags.FromError(backendErr)
	for _, subject := range subjects {
		env.RootModule = subject.Dir
		validate := engine.Validate
		if opts.Query && subject.Config == cfg.Config {
			validate = query.Validate
		}
		errs = errs.AppendError(validate(terminal.UntilAbort(ctx), subject.Config, env))
	}
	return errs.Err()
}

// validateBackend checks the backend block. Arguments that are missing can be set by init. A block
// whose values depend on variables, and the arguments of a state store, are checked by init alone.
func (s *Session) validateBackend(ctx context.Context, cfg *Config) error {
	block := cfg.Module.Backend
	if cfg.Module.Cloud != nil {
		block = cfg.Module.Cloud
	}
	if block == nil || block.Store != nil {
		return nil
	}
	if settings, err := s.Backend(ctx, block.Type); err == nil {
		body := lang.AnalyzeBody(block.Config, OptionalSchema(settings.Schema), addrs.ModuleScope)
		if len(body.Refs.Objects) > 0 {
			return nil
		}
	}
	_, _, err := s.DecodeBackend(ctx, cfg)
	return err
}

// LoadTests loads the test files of a configuration and the modules of their runs.
func (s *Session) LoadTests(
	ctx context.Context, cfg *Config, dir string, resolve configs.Resolver,
) (*moduletest.Suite, error) {
	workspace, err := s.Workspace()
	if err != nil {
		return nil, err
	}
	return moduletest.Load(ctx, cfg.Config, dir, &configs.LoadOptions{
		Parser: s.Parser, Variables: cfg.Given, Workspace: workspace, WorkDir: s.WorkDir, Resolve: resolve,
	}, s.Warnings.Add)
}
