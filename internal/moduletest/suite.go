package moduletest

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// Suite holds the test files of a module and the modules that their runs test.
type Suite struct {
	Root     *configs.Config
	Files    []*configs.TestFile
	subjects map[*configs.TestRun]*subject
	root     *subject
	opts     configs.LoadOptions
}

// subject is a module under test.
type subject struct {
	dir     string
	key     string // runs with the same key share a state; "" for the root module
	path    addrs.Module
	version string
	config  *configs.Config // the module as written, without overrides of runs
}

// Assigned returns outside values of variables for loading a root module whose tests will run: those
// that any test file sets are unknown, because each run has a value of its own.
func Assigned(outside map[string]configs.Given, files []*configs.TestFile) map[string]configs.Given {
	out := maps.Clone(outside)
	unknown := func(set map[string]hcl.Expression) {
		for name := range set {
			out[name] = configs.Given{Val: cty.DynamicVal}
		}
	}
	for _, file := range files {
		unknown(file.Variables)
		for _, run := range file.Runs {
			if run.Module == nil {
				unknown(run.Variables)
			}
		}
	}
	return out
}

// Load reads the test files of the root module, which is already loaded. It also loads the modules
// that runs test instead of the root module. If there is an error, it also returns what could be
// loaded.
func Load(
	ctx context.Context, root *configs.Config, testDir string, opts *configs.LoadOptions, warn tfdiags.Sink,
) (*Suite, error) {
	s := &Suite{Root: root, opts: *opts, subjects: map[*configs.TestRun]*subject{},
		root: &subject{dir: root.Module.Dir, config: root}}
	var err error
	s.Files, err = opts.Parser.TestFiles(root.Module.Dir, testDir, warn)
	if err != nil {
		return s, err
	}
	var errs tfdiags.Diagnostics
	for _, file := range s.Files {
		for _, run := range file.Runs {
			if run.Module == nil {
				s.subjects[run] = s.root
				continue
			}
			subject, err := s.load(ctx, file, run, warn)
			errs = errs.AppendError(err)
			s.subjects[run] = subject
		}
		errs = errs.AppendError(s.checkProviderTypes(file))
	}
	return s, errs.Err()
}

// load loads the module that a run tests instead of the root module. It returns nil if there is no
// resolver, or if the resolver returns no directory. Sources of modules have the values of the run's
// variables.
func (s *Suite) load(
	ctx context.Context, file *configs.TestFile, run *configs.TestRun, warn tfdiags.Sink,
) (*subject, error) {
	m, fileRun := run.Module, newFileRun(&Runner{Suite: s, Variables: s.opts.Variables}, file)
	req, err := s.request(newVariables(fileRun, run, s.Root.Module))
	if err != nil || s.opts.Resolve == nil {
		return nil, err
	}
	found, err := s.opts.Resolve(ctx, req)
	dir, version := found.Dir, found.Version
	if err != nil || dir == "" {
		return nil, err
	}
	if !s.opts.Parser.IsModuleDir(dir) {
		return nil, tfdiags.Errorf("Module not installed",
			"There is no module in %s. %s", dir, req.RunInit()).At(m.Call.Range)
	}
	sub := &subject{dir: dir, path: m.Path, version: version, key: req.Source.String() + "@" + version}
	if req.Source.Kind == addrs.LocalModule {
		sub.key = filepath.Clean(dir) // the same directory may be written in several ways
	}
	opts := s.opts
	opts.Called, opts.Resolve = true, s.opts.Resolve.Within(m.Path)
	if module, _ := opts.Parser.Module(dir, tfdiags.Drop); module != nil {
		opts.Variables = newVariables(fileRun, run, module).static(true)
	}
	sub.config, err = configs.LoadRoot(ctx, dir, &opts, warn)
	return sub, err
}

// request evaluates the source of the module that a run tests instead of the root module.
func (s *Suite) request(v *variables) (*configs.ModuleRequest, error) {
	opts := s.opts
	opts.Variables = v.static(false)
	root, err := configs.LoadRootModule(s.Root.Module.Dir, &opts, tfdiags.Drop)
	if root == nil {
		return nil, err
	}
	call, to := *v.run.Module.Call, v.binding()
	call.SourceExpr = &boundExpr{call.SourceExpr, to}
	if call.VersionExpr != nil {
		call.VersionExpr = &boundExpr{call.VersionExpr, to}
	}
	return (&configs.TestModule{Call: &call, Path: v.run.Module.Path}).Request(root)
}

// Check returns errors that can be found without executing runs.
func (s *Suite) Check() error {
	var errs tfdiags.Diagnostics
	for _, file := range s.Files {
		errs = errs.AppendError(repeated(file.Overrides))
		for _, run := range file.Runs {
			_, err := expectations(run)
			errs = errs.AppendError(err).AppendError(repeated(run.Overrides))
		}
	}
	return errs.Err()
}

// Configs returns the configurations under test, whose modules and providers must be installed. The
// root module comes first. A module that several runs test is returned once for each of them.
func (s *Suite) Configs() []*configs.Config {
	out := []*configs.Config{s.Root}
	for _, file := range s.Files {
		for _, run := range file.Runs {
			if sub := s.subjects[run]; sub != nil && sub != s.root && sub.config != nil {
				out = append(out, sub.config)
			}
		}
	}
	return out
}

// Subject is a configuration under test and its directory.
type Subject struct {
	Dir    string
	Config *configs.Config
}

// Subjects returns the configurations under test, without duplicates. The root module is first.
func (s *Suite) Subjects() []Subject {
	out, seen := []Subject{{s.root.dir, s.Root}}, map[string]bool{s.root.key: true}
	for _, file := range s.Files {
		for _, run := range file.Runs {
			if sub := s.subjects[run]; sub != nil && sub.config != nil && !seen[sub.key] {
				seen[sub.key] = true
				out = append(out, Subject{sub.dir, sub.config})
			}
		}
	}
	return out
}

// Own returns the configuration that a run tests instead of the root module, or nil.
func (s *Suite) Own(run *configs.TestRun) *configs.Config {
	if sub := s.subjects[run]; sub != nil && sub != s.root {
		return sub.config
	}
	return nil
}

// Configured returns the providers that a file's provider blocks configure. Their names are looked
// up in required_providers of the root module. A name that is missing there is looked up in the
// modules that the file's runs test instead of the root module.
func (s *Suite) Configured(file *configs.TestFile) []addrs.Provider {
	found := map[addrs.Provider]bool{}
	for local := range file.Providers {
		module := s.Root.Module
		for _, run := range file.Runs {
			if cfg := s.Own(run); cfg != nil && module.RequiredProviders[local.LocalName] == nil &&
				cfg.Module.RequiredProviders[local.LocalName] != nil {
				module = cfg.Module
			}
		}
		found[module.ProviderByLocalName(local.LocalName)] = true
	}
	return slices.SortedFunc(maps.Keys(found), addrs.Provider.Compare)
}

// Only drops all test files except those with the given names, as written on the command line. It
// returns the names that don't match any file.
func (s *Suite) Only(names []string) (unknown []string) {
	wanted := map[string]bool{}
	for _, name := range names {
		clean := filepath.Clean(name)
		isNamed := func(f *configs.TestFile) bool { return f.Name == clean }
		if name == "" || !slices.ContainsFunc(s.Files, isNamed) {
			unknown = append(unknown, name)
		}
		wanted[clean] = name != ""
	}
	s.Files = slices.DeleteFunc(s.Files, func(f *configs.TestFile) bool { return !wanted[f.Name] })
	return unknown
}

// knows reports whether the module uses the provider with that local name.
func (s *subject) knows(localName string) bool {
	_, ok := s.config.ProviderRequirements()[s.config.Module.ProviderByLocalName(localName)]
	return ok
}
