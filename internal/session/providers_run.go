package session

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/builtin"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/moduletest"
	"tofu/internal/pace"
	"tofu/internal/parallel"
	"tofu/internal/plugin"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// keepConfigured is how long a process that was configured for a plan waits for the apply. It is
// short, because the provider's caches should not be old if someone takes a long time to review a
// plan.
const keepConfigured = 30 * time.Second

// Providers starts and stops the providers of one command.
type Providers struct {
	*plugin.Pool
	Locks        *depsfile.Locks
	packages     *packages
	store        *pkgstore.Store
	provisioners *provisioners
	warn         tfdiags.Sink
	log          *slog.Logger
}

// packages describes the provider packages that are locked and installed for a root module.
type packages struct {
	locks *depsfile.Locks
	dirs  *Dirs
	// attached holds the providers that are already running. overrides holds the directories of
	// development overrides. Providers in these two maps need no package.
	attached    map[addrs.Provider]*plugin.Reattach
	overrides   map[addrs.Provider]string
	steadyNames []string // the steady providers of the CLI configuration

	found tfdiags.Diagnostics // warnings about the lock file, not yet shown
}

// readPackages reads the lock file of the root module. It also finds out which providers need no
// package.
func readPackages(s *Session, warn tfdiags.Sink) (*packages, error) {
	locks, locksErr := depsfile.Load(s.LockFile(), warn)
	attached, err := plugin.ParseReattach(s.Env(plugin.ReattachEnv))
	if err := tfdiags.Join(locksErr, err); err != nil {
		return nil, err
	}
	return &packages{locks: locks, dirs: &s.Dirs, attached: attached, overrides: s.CLI.DevOverrides,
		steadyNames: s.CLI.Steady}, nil
}

// check returns an error if required providers are not locked or not installed.
func (p *packages) check(reqs depsfile.Requirements) error {
	elsewhere := Unmanaged(p.attached)
	maps.Copy(elsewhere, Overridden(p.overrides))
	return install.Check(reqs, p.locks, p.dirs.ProvidersDir(), elsewhere, p.dirs.InitCommand)
}

// missing returns an error if packages of providers in the lock file are not installed. It doesn't
// check what the configuration requires.
func (p *packages) missing() error {
	locked := make(depsfile.Requirements)
	for _, provider := range p.locks.Providers() {
		locked[provider] = nil
	}
	return p.check(locked)
}

// OpenProviders checks that the required providers are locked and installed. The returned pool
// starts providers when they are needed.
func (s *Session) OpenProviders(reqs depsfile.Requirements) (*Providers, error) {
	r, err := s.newProviders()
	if err != nil {
		return nil, err
	}
	if err := s.useProviders(r, reqs); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// useProviders checks that the required providers are locked and installed.
func (s *Session) useProviders(r *Providers, reqs depsfile.Requirements) error {
	defer s.Timings.Phase("lock file and packages")()
	s.Warnings.Add(r.packages.found...)
	s.Warnings.Add(OverrideWarnings(s.CLI.DevOverrides)...)
	return r.packages.check(reqs)
}

// prepareProviders begins to start the providers in the lock file, because nearly all of them will be
// needed, except for steady ones. It returns nil if that is not possible; then OpenProviders will say why. Root modules of an
// estate share processes, and start them when they need them.
func (s *Session) prepareProviders(ctx context.Context) *Providers {
	if s.Plugins != nil {
		return nil
	}
	r, err := s.newProviders()
	if err != nil {
		return nil
	}
	r.Prepare(terminal.UntilAbort(ctx), slices.DeleteFunc(r.Locks.Providers(), r.steady))
	return r
}

// steady reports whether the user has said that the answers of a provider depend only on what it is
// asked. That holds for a release, but not for a program that can be built anew.
func (r *Providers) steady(p addrs.Provider) bool {
	if r.packages.attached[p] != nil || r.packages.overrides[p] != "" {
		return false
	}
	return slices.ContainsFunc(r.packages.steadyNames, func(name string) bool {
		return pace.Matches(name, p.ForDisplay()) || pace.Matches(name, p.String())
	})
}

// newProviders reads the lock file. Nothing is started yet.
func (s *Session) newProviders() (*Providers, error) {
	var found tfdiags.Diagnostics
	locked, err := readPackages(s, found.Add)
	if err != nil {
		return nil, err
	}
	locked.found = found
	return s.startProviders(locked)
}

// startProviders returns a pool of the locked providers.
func (s *Session) startProviders(locked *packages) (*Providers, error) {
	store, err := pkgstore.Open(s.CLI.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("opening the package store: %w", err)
	}
	installed := &install.Packages{Dir: s.ProvidersDir(), Locks: locked.locks, Store: store,
		Overrides: s.CLI.DevOverrides, InitCommand: s.InitCommand}
	find := func(_ context.Context, p addrs.Provider) (plugin.Launch, error) {
		launch := plugin.Launch{
			Log: s.Logs.Provider.With("provider", p.String()), CacheDir: s.CLI.CacheDir,
			NoTLS:    s.Env("TF_DISABLE_PLUGIN_TLS") != "",
			WorkDir:  s.Base,
			Reattach: locked.attached[p],
		}
		if launch.Reattach != nil {
			return launch, nil
		}
		program, err := installed.Program(p)
		launch.Exec, launch.PackageHash = program.Path, string(program.Hash)
		if launch.PackageHash != "" {
			launch.PackageHash += switches(s.Environ)
		}
		return launch, err
	}
	terraform := sync.OnceValue(func() providers.Interface {
		return builtin.New(builtin.Options{RemoteState: newRemoteReader(s).builtin(), Store: s.hasStored()})
	})
	builtins := map[addrs.Provider]func() providers.Interface{addrs.BuiltinTerraform: terraform}
	return &Providers{
		Pool:  &plugin.Pool{Find: find, Builtin: builtins, Shared: s.Plugins, Keep: keepConfigured},
		Locks: locked.locks, packages: locked, store: store,
		provisioners: &provisioners{dirs: provisionerDirs(s.path("."), s.CLI.ImpliedDirs), base: s.Base,
			log: s.Logs.Provider},
		warn: s.Warnings.Add, log: s.Logs.Core,
	}, nil
}

// Close stops the providers that are still running, and logs errors.
func (r *Providers) Close() {
	if err := r.Pool.Close(); err != nil {
		r.log.Warn("ending providers", "error", err)
	}
	if err := r.provisioners.close(); err != nil {
		r.log.Warn("ending provisioners", "error", err)
	}
	if err := r.store.Close(); err != nil {
		r.log.Warn("closing the package store", "error", err)
	}
}

// Schemas returns a function that returns the schemas for printing. Objects without a schema can be
// printed, too. Errors in schemas are passed to report.
func (r *Providers) Schemas(ctx context.Context, report tfdiags.Sink) ui.Schemas {
	known := make(map[addrs.Provider]*providers.Schema)
	return func(p addrs.Provider) *providers.Schema {
		if s, ok := known[p]; ok {
			return s
		}
		s, found := r.Schema(ctx, p)
		report(found...)
		known[p] = s
		return s
	}
}

// LoadSchemas loads the schemas of all providers that a state needs, concurrently.
func (r *Providers) LoadSchemas(ctx context.Context, st *states.State) (ui.Schemas, error) {
	used := make(map[addrs.Provider]bool)
	for _, c := range st.Providers() {
		used[c.Provider] = true
	}
	return r.FetchSchemas(ctx, slices.SortedFunc(maps.Keys(used), addrs.Provider.Compare))
}

// FetchSchemas loads the schemas of the given providers.
func (r *Providers) FetchSchemas(ctx context.Context, list []addrs.Provider) (ui.Schemas, error) {
	found := make([]*providers.Schema, len(list))
	diags := make([]tfdiags.Diagnostics, len(list))
	parallel.Each(len(list), len(list), func(i int) { found[i], diags[i] = r.Schema(ctx, list[i]) })
	known := make(map[addrs.Provider]*providers.Schema, len(list))
	for i, p := range list {
		known[p] = found[i]
	}
	if err := slices.Concat(diags...).Report(r.warn); err != nil {
		return nil, err
	}
	return func(p addrs.Provider) *providers.Schema { return known[p] }, nil
}

// Requirements returns the providers that a configuration and a state require.
func Requirements(cfg *configs.Config, st *states.State) depsfile.Requirements {
	reqs := make(depsfile.Requirements)
	if cfg != nil {
		AddRequirements(reqs, cfg)
	}
	for _, c := range st.Providers() {
		if _, ok := reqs[c.Provider]; !ok {
			reqs[c.Provider] = nil
		}
	}
	return reqs
}

// AddRequirements adds the requirements of a configuration.
func AddRequirements(reqs depsfile.Requirements, cfg *configs.Config) {
	for p, list := range cfg.ProviderRequirements() {
		all := reqs[p]
		for _, r := range list {
			all = append(all, r.Constraints...)
		}
		reqs[p] = all
	}
}

// AddTestRequirements adds the requirements of a configuration and its tests. The requirements
// of tests are those of the modules that runs use, and the providers that test files configure.
func AddTestRequirements(reqs depsfile.Requirements, suite *moduletest.Suite) {
	for _, c := range suite.Configs() {
		AddRequirements(reqs, c)
	}
	for _, file := range suite.Files {
		for _, p := range suite.Configured(file) {
			if _, ok := reqs[p]; !ok {
				reqs[p] = nil
			}
		}
	}
}

// OverrideWarnings returns the warning about development builds, which the lock file does not
// cover. It returns nil if there are no overrides.
func OverrideWarnings(overrides map[addrs.Provider]string) tfdiags.Diagnostics {
	if len(overrides) == 0 {
		return nil
	}
	var used strings.Builder
	for _, p := range slices.SortedFunc(maps.Keys(overrides), addrs.Provider.Compare) {
		fmt.Fprintf(&used, "\n - %s in %s", p.ForDisplay(), overrides[p])
	}
	return tfdiags.Warningf("Provider development overrides are in effect",
		"The CLI configuration (dev_overrides) replaces these providers with development builds:%s\n\nThe builds may "+
			"behave differently from all released versions, and a state that they have changed may be unusable with "+
			"released versions.",
		used.String()).List()
}

// switches returns a hash of the environment variables that may change the schema of a provider.
// The key under which schemas are cached between runs includes this hash, because some providers
// have features that a variable enables. Such variables have short values, unlike variables with
// secrets and paths.
func switches(environ []string) string {
	var found []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if len(value) <= maxSwitch && !strings.HasPrefix(name, "TF_") && !slices.Contains(noSwitches, name) {
			found = append(found, entry)
		}
	}
	slices.Sort(found)
	return fmt.Sprintf(" %x", sha256.Sum256([]byte(strings.Join(found, "\n"))))
}

// maxSwitch is the maximum length in bytes of the value of a variable that may change a schema,
// such as "enabled" or "disabled".
const maxSwitch = 8

// noSwitches lists variables that change no schema although their values are short. Their values
// differ between shells.
var noSwitches = []string{"SHLVL", "LINES", "COLUMNS", "WINDOWID", "TMUX_PANE", "TERM", "_"}

// Unmanaged returns the set of providers that were already running and were not started by this
// program.
func Unmanaged(attached map[addrs.Provider]*plugin.Reattach) map[addrs.Provider]bool {
	out := make(map[addrs.Provider]bool, len(attached))
	for p := range attached {
		out[p] = true
	}
	return out
}

// Overridden returns the set of providers that development overrides replace.
func Overridden(overrides map[addrs.Provider]string) map[addrs.Provider]bool {
	out := make(map[addrs.Provider]bool, len(overrides))
	for p := range overrides {
		out[p] = true
	}
	return out
}
