package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
	"tofu/internal/plugin"
	"tofu/internal/registry"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// providerInstaller installs the providers of a root module.
type providerInstaller struct {
	session *session.Session
	flags   *initFlags
	client  *registry.Client
	report  *packageReport
	stderr  ui.Printer
}

// install installs the providers that the configuration and the state require, and writes the lock
// file.
func (p *providerInstaller) install(ctx context.Context, cfg *session.Config) error {
	prev, locks, err := p.ensure(ctx, cfg)
	if err != nil {
		return err
	}
	return p.saveLocks(prev, locks)
}

// ensure installs the providers. It returns the content of the lock file, and what it should be.
func (p *providerInstaller) ensure(ctx context.Context, cfg *session.Config) (prev, locks *depsfile.Locks, err error) {
	s, f := p.session, p.flags
	defer s.Timings.Phase("providers")()
	prev, prevErr := depsfile.Load(s.LockFile(), s.Warnings.Add)
	attached, err := plugin.ParseReattach(s.Env(plugin.ReattachEnv))
	if err := tfdiags.Join(prevErr, err); err != nil {
		return nil, nil, err
	}
	source, err := p.packageSource()
	if err != nil {
		return nil, nil, err
	}
	st, err := stateIfAny(ctx, s, cfg, session.StateRequest{LazyKeys: !f.Backend})
	if err != nil {
		return nil, nil, err
	}
	store, err := pkgstore.Open(s.CLI.CacheDir)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the package store: %w", err)
	}
	defer func() { _ = store.Close() }()
	reqs := session.Requirements(cfg.Config, st)
	if cfg.Tests != nil { // the root module alone has none
		session.AddTestRequirements(reqs, cfg.Tests)
	}
	if record, err := s.ReadBackendRecord(); err == nil && record != nil { // a migration reads from its store
		if provider, ok := record.Provider(); ok {
			reqs[provider] = slices.Clone(reqs[provider])
		}
	}
	s.Warnings.Add(session.OverrideWarnings(s.CLI.DevOverrides)...)
	progress := newDownloads(s, &f.viewFlags)
	locks, err = install.Ensure(ctx, reqs, prev, &install.Options{
		Dir: s.ProvidersDir(), Source: source, Store: store, Cache: s.CLI.PluginCacheDir,
		CacheMayBreakLock: s.CLI.PluginCacheMayBreakLock,
		Upgrade:           f.Upgrade, Unmanaged: session.Unmanaged(attached),
		Overridden: session.Overridden(s.CLI.DevOverrides), Where: constraintPlaces(cfg.Config),
		Observe: progress.providers(p.report.provider),
	}, s.Warnings.Add)
	progress.end()
	return prev, locks, err
}

// constraintPlaces returns a function that says where the configuration has the constraints of a
// provider.
func constraintPlaces(cfg *configs.Config) func(addrs.Provider) string {
	reqs := cfg.ProviderRequirements()
	return func(p addrs.Provider) string {
		var places []string
		for _, r := range reqs[p] {
			if len(r.Constraints) > 0 {
				places = append(places, tfdiags.Place(r.Range))
			}
		}
		slices.Sort(places)
		return strings.Join(slices.Compact(places), ", ")
	}
}

// stateIfAny returns the state of the current workspace, whose objects require providers too. It
// returns nil if the backend isn't initialized, or if the state is encrypted and req allows the
// keys to be unknown.
func stateIfAny(
	ctx context.Context, s *session.Session, cfg *session.Config, req session.StateRequest,
) (*states.State, error) {
	if _, err := s.CurrentBackend(ctx, cfg); err != nil {
		s.Logs.Core.Debug("no state is read", "reason", err)
		return nil, nil
	}
	p, err := s.Locate(ctx, cfg, req)
	if err != nil {
		return nil, err
	}
	// Without the backend, the encryption keys may be unknown. Providers that only objects in an
	// encrypted state require are then skipped; an init with the backend installs them.
	if req.LazyKeys {
		if encrypted, err := p.Encrypted(ctx); err == nil && encrypted {
			return nil, nil
		}
	}
	open, err := s.ReadState(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return session.Adopt(open.State(), cfg.Config, s.Env), open.Close()
}

// packageSource returns the source of packages: the -plugin-dir directories or, without that
// option, the installation methods of the CLI configuration. It records the directories in a file
// for users to find. It reports invalid methods and skips them.
func (p *providerInstaller) packageSource() (sources.Source, error) {
	if len(p.flags.PluginDirs) == 0 {
		source, err := sources.FromConfig(p.session.CLI, p.client)
		if err != nil {
			p.stderr.Diagnostics(tfdiags.FromError(err))
		}
		if p.flags.Offline {
			source = sources.Offline(source)
		}
		return source, nil
	}
	dirs := slices.DeleteFunc(slices.Clone(p.flags.PluginDirs), func(dir string) bool { return dir == "" })
	if len(dirs) == 0 { // "-plugin-dir=" removes the record; no directories are searched
		err := os.Remove(filepath.Join(p.session.DataDir, "plugin_path"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("removing the recorded plugin directories: %w", err)
		}
		return sources.Multi{}, nil
	}
	text, err := json.MarshalIndent(dirs, "", "  ")
	if err == nil {
		err = p.session.WriteDataFile("plugin_path", text, 0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("recording the plugin directories: %w", err)
	}
	var multi sources.Multi
	for _, dir := range dirs {
		multi = append(multi, sources.Method{Source: sources.Filesystem{Dir: dir}})
	}
	return multi, nil
}

const withoutReadonly = "Run \"tofu init\" without this option to record them."

// saveLocks writes the lock file if it changed, unless the options forbid it.
func (p *providerInstaller) saveLocks(prev, locks *depsfile.Locks) error {
	switch {
	case locks.Equal(prev):
		return nil
	case p.flags.readOnly() && !locks.SameProviders(prev):
		return tfdiags.Errorf("Provider dependency changes detected",
			"The required providers differ from those in the lock file, and "+
				"-lockfile=readonly leaves the file unchanged. "+withoutReadonly)
	case p.flags.readOnly():
		p.session.Warnings.Add(tfdiags.Warningf("Provider lock file not updated",
			"The selected versions or checksums differ from those in the lock file, and "+
				"-lockfile=readonly leaves the file unchanged. "+withoutReadonly))
		return nil
	}
	if err := locks.Save(p.session.LockFile()); err != nil {
		return fmt.Errorf("writing the lock file: %w", err)
	}
	if prev.Empty() {
		p.session.Note("\nThe selected providers are recorded in the new file %s.\nCommit it, so that \"tofu "+
			"init\" selects the same ones everywhere.", depsfile.FileName)
	} else {
		p.session.Note("\nThe selections in %s changed. Review and commit\nthem.", depsfile.FileName)
	}
	return nil
}
