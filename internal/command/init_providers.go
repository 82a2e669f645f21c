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

	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
	"tofu/internal/plugin"
	"tofu/internal/registry"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// installProviders installs the providers that the configuration and the state require, and writes
// the lock file.
func (a *App) installProviders(
	ctx context.Context, cfg *session.Config, f *initFlags, client *registry.Client,
) error {
	defer a.Timings.Phase("providers")()
	prev, prevErr := depsfile.Load(a.LockFile(), a.Warnings.Add)
	attached, err := plugin.ParseReattach(a.Env(plugin.ReattachEnv))
	if err := tfdiags.Join(prevErr, err); err != nil {
		return err
	}
	source, err := a.packageSource(f, client)
	if err != nil {
		return err
	}
	st, err := a.stateIfAny(ctx, cfg, session.StateRequest{LazyKeys: !f.Backend})
	if err != nil {
		return err
	}
	store, err := pkgstore.Open(a.CLI.CacheDir)
	if err != nil {
		return fmt.Errorf("opening the package store: %w", err)
	}
	defer func() { _ = store.Close() }()
	reqs := session.Requirements(cfg.Config, st)
	session.AddTestRequirements(reqs, cfg.Tests)
	a.CheckOverrides()
	progress := a.newDownloads()
	locks, err := install.Ensure(ctx, reqs, prev, &install.Options{
		Dir: a.ProvidersDir(), Source: source, Store: store, Cache: a.CLI.PluginCacheDir,
		CacheMayBreakLock: a.CLI.PluginCacheMayBreakLock,
		Upgrade:           f.Upgrade, Unmanaged: session.Unmanaged(attached), Overridden: a.Overridden(),
		Observe: progress.providers(a.reportInstall),
	}, a.Warnings.Add)
	progress.end()
	if err != nil {
		return err
	}
	return a.saveLocks(prev, locks, f)
}

// stateIfAny returns the state of the current workspace, whose objects require providers too. It
// returns nil if the backend isn't initialized.
func (a *App) stateIfAny(
	ctx context.Context, cfg *session.Config, req session.StateRequest,
) (*states.State, error) {
	if _, err := a.CurrentBackend(cfg); err != nil {
		a.Logs.Core.Debug("no state is read", "reason", err)
		return nil, nil
	}
	p, err := a.Locate(ctx, cfg, req)
	if err != nil {
		return nil, err
	}
	// The encryption keys may be unknown. In that case, this init skips providers that only
	// objects in the state require. An init with the backend installs them.
	if req.LazyKeys {
		if encrypted, err := p.Encrypted(ctx); err == nil && encrypted {
			return nil, nil
		}
	}
	open, err := a.ReadState(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return a.Adopt(open.State(), cfg.Config), open.Close()
}

// packageSource returns the source of packages: the -plugin-dir directories or, without that
// option, the installation methods of the CLI configuration. It records the directories in a
// file for users to find. It skips invalid methods with a warning.
func (a *App) packageSource(f *initFlags, client *registry.Client) (sources.Source, error) {
	if len(f.PluginDirs) == 0 {
		source, err := sources.FromConfig(a.CLI, client)
		if err != nil {
			a.printOnStderr(tfdiags.FromError(err))
		}
		return source, nil
	}
	dirs := slices.DeleteFunc(slices.Clone(f.PluginDirs), func(dir string) bool { return dir == "" })
	if len(dirs) == 0 { // "-plugin-dir=" removes the record; no directories are searched
		err := os.Remove(filepath.Join(a.DataDir, "plugin_path"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("removing the recorded plugin directories: %w", err)
		}
		return sources.Multi{}, nil
	}
	text, err := json.MarshalIndent(dirs, "", "  ")
	if err == nil {
		err = a.WriteDataFile("plugin_path", text, 0o644)
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
func (a *App) saveLocks(prev, locks *depsfile.Locks, f *initFlags) error {
	switch {
	case locks.Equal(prev):
		return nil
	case f.readOnly() && !locks.SameProviders(prev):
		return tfdiags.Errorf("Provider dependency changes detected",
			"The configuration needs other providers than the lock file has, and -lockfile=readonly keeps it "+
				"as it is. "+withoutReadonly)
	case f.readOnly():
		a.Warnings.Add(tfdiags.Warningf("Provider lock file not updated",
			"The lock file has other versions or checksums than were selected, and -lockfile=readonly keeps "+
				"it as it is. "+withoutReadonly))
		return nil
	}
	if err := locks.Save(a.LockFile()); err != nil {
		return fmt.Errorf("writing the lock file: %w", err)
	}
	if prev.Empty() {
		a.Say("\nThe selected providers are recorded in the new file %s.\nCommit it, so that \"tofu "+
			"init\" selects the same ones everywhere.", depsfile.FileName)
	} else {
		a.Say("\nThe selections in %s changed. Review and commit\nthem.", depsfile.FileName)
	}
	return nil
}

// reportInstall prints an event of a provider's installation.
func (a *App) reportInstall(e install.Event) {
	switch e := e.(type) {
	case install.Builtin:
		a.Say("- %s is part of tofu", e.Provider.ForDisplay())
	case install.Reusing:
		a.Say("- Reusing the version of %s in the lock file", e.Provider.ForDisplay())
	case install.Finding:
		if e.Constraints == "" {
			a.Say("- Finding the latest version of %s...", e.Provider.ForDisplay())
		} else {
			a.Say("- Finding %s versions matching %q...", e.Provider.ForDisplay(), e.Constraints)
		}
	case install.AlreadyInstalled:
		a.Say("- Using %s v%s, which is installed", e.Provider.ForDisplay(), e.Version)
	case install.FromCache:
		a.Say("- Using %s v%s from the shared cache", e.Provider.ForDisplay(), e.Version)
	case install.Installing:
		a.Say("- Installing %s v%s...", e.Provider.ForDisplay(), e.Version)
	case install.Waiting:
		a.Say("- Waiting for another process to install %s v%s...", e.Provider.ForDisplay(), e.Version)
	case install.Installed:
		text := fmt.Sprintf("%s v%s (%s)", e.Provider.ForDisplay(), e.Version, describeAuth(e.Auth, e.KeyID))
		a.Say("- Installed %s", text)
		a.noteInstalled(text)
	case install.Mirroring:
		a.Say("- Mirroring %s...", e.Provider.ForDisplay())
		if e.Locked {
			a.Say("  - Selected v%s to match dependency lock file", e.Version)
		} else if e.Constraints != "" {
			a.Say("  - Selected v%s to meet constraints %s", e.Version, e.Constraints)
		} else {
			a.Say("  - Selected v%s with no constraints", e.Version)
		}
	case install.Fetching:
		a.Say("- Fetching %s %s for %s...", e.Provider.ForDisplay(), e.Version, e.Platform)
	case install.Fetched:
		a.Say("- Retrieved %s %s for %s (%s)",
			e.Provider.ForDisplay(), e.Version, e.Platform, describeAuth(e.Auth, e.KeyID))
	}
}

func (a *App) noteInstalled(what string) {
	if a.installed != nil {
		a.installed(what)
	}
}

func describeAuth(auth, key string) string {
	if key != "" {
		return auth + ", key ID " + key
	}
	return auth
}
