package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
	"tofu/internal/plugin"
	"tofu/internal/registry"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// installProviders installs what configuration and state need, and writes the lock file.
func (a *App) installProviders(ctx context.Context, cfg *loaded, f *initFlags, client *registry.Client) tfdiags.Diagnostics {
	prev, diags := depsfile.Load(depsfile.FileName)
	attached, err := plugin.ParseReattach(a.Env(plugin.ReattachEnv))
	if err != nil {
		diags = diags.Append(err)
	}
	source, more := a.packageSource(f, client)
	diags = diags.Append(more)
	if diags.HasErrors() {
		return diags
	}
	st, more := a.stateIfAny(ctx, cfg)
	diags = diags.Append(more)
	if diags.HasErrors() {
		return diags
	}
	store, err := pkgstore.Open(a.CLI.CacheDir)
	if err != nil {
		return diags.Append(fmt.Errorf("opening the package store: %w", err))
	}
	defer func() { _ = store.Close() }()
	reqs := requirements(cfg.Config, st)
	diags = diags.Append(a.overrideWarning(reqs))
	locks, more := install.Ensure(ctx, reqs, prev, &install.Options{
		Dir: a.providersDir(), Source: source, Store: store, Cache: a.CLI.PluginCacheDir, CacheMayBreakLock: a.CLI.PluginCacheMayBreakLock,
		Upgrade: f.Upgrade, Elsewhere: a.elsewhere(attached), Observe: a.tellInstall,
	})
	diags = diags.Append(more)
	if diags.HasErrors() {
		return diags
	}
	return diags.Append(a.saveLocks(prev, locks, f.LockFile == "readonly"))
}

// stateIfAny gives the current workspace's state, whose objects need providers too; nil when the backend isn't initialised.
func (a *App) stateIfAny(ctx context.Context, cfg *loaded) (*states.State, tfdiags.Diagnostics) {
	if settings, diags := a.currentBackend(cfg); settings == nil {
		a.Logs.Core.Debug("no state is looked at", "reason", diags.Err())
		return nil, nil
	}
	p, diags := a.openPlace(ctx, cfg, stateRequest{})
	if diags.HasErrors() {
		return nil, diags
	}
	open, diags := a.readState(ctx, p.store, p.workspace, p, stateRequest{})
	if diags.HasErrors() {
		return nil, diags
	}
	return open.State(), diags.Append(open.close())
}

// packageSource is where packages come from: the folders of -plugin-dir, now or in an earlier run, or what the CLI configuration says.
func (a *App) packageSource(f *initFlags, client *registry.Client) (sources.Source, tfdiags.Diagnostics) {
	path := filepath.Join(a.DataDir, "plugin_path")
	dirs := f.PluginDirs
	switch {
	case len(dirs) == 1 && dirs[0] == "": // how to get rid of them
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, tfdiags.Diagnostics{}.Append(fmt.Errorf("forgetting the plugin directories: %w", err))
		}
		dirs = nil
	case len(dirs) > 0:
		text, err := json.MarshalIndent(dirs, "", "  ")
		if err == nil {
			err = a.writeDataFile("plugin_path", text)
		}
		if err != nil {
			return nil, tfdiags.Diagnostics{}.Append(fmt.Errorf("remembering the plugin directories: %w", err))
		}
	default:
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &dirs)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, tfdiags.Diagnostics{}.Append(fmt.Errorf("reading which plugin directories are used: %w", err))
		}
	}
	if len(dirs) == 0 {
		return sources.FromConfig(a.CLI, client)
	}
	var multi sources.Multi
	for _, dir := range dirs {
		multi = append(multi, sources.Method{Source: sources.Filesystem{Dir: dir}})
	}
	return multi, nil
}

// saveLocks writes the lock file where something in it changed.
func (a *App) saveLocks(prev, locks *depsfile.Locks, readonly bool) tfdiags.Diagnostics {
	switch {
	case locks.Equal(prev):
		return nil
	case readonly && !locks.SameProviders(prev):
		return tfdiags.Diagnostics{tfdiags.Errorf("Provider dependency changes detected",
			"Changes to the required provider dependencies were detected, but the lock file is read-only. To use and record these requirements, "+
				"run \"tofu init\" without the \"-lockfile=readonly\" option.")}
	case readonly:
		return tfdiags.Diagnostics{tfdiags.Warningf("Provider lock file not updated",
			"Changes to the provider selections were detected, but not saved in the .terraform.lock.hcl file. To record these selections, "+
				"run \"tofu init\" without the \"-lockfile=readonly\" option.")}
	}
	if err := locks.Save(depsfile.FileName); err != nil {
		return tfdiags.Diagnostics{}.Append(fmt.Errorf("writing the lock file: %w", err))
	}
	if prev.Empty() {
		a.say("\ntofu has created a lock file %s to record the provider\nselections it made above. Include this file in your version control repository\n"+
			"so that tofu can guarantee to make the same selections by default when\nyou run \"tofu init\" in the future.", depsfile.FileName)
	} else {
		a.say("\ntofu has made some changes to the provider dependency selections recorded\nin the %s file. Review those changes and commit them to your\n"+
			"version control system if they represent changes you intended to make.", depsfile.FileName)
	}
	return nil
}

// tellInstall says what happens to a provider.
func (a *App) tellInstall(e install.Event) {
	switch e := e.(type) {
	case install.Builtin:
		a.say("- %s is built in to tofu", e.Provider.ForDisplay())
	case install.Reusing:
		a.say("- Reusing previous version of %s from the dependency lock file", e.Provider.ForDisplay())
	case install.Finding:
		if e.Constraints == "" {
			a.say("- Finding latest version of %s...", e.Provider.ForDisplay())
		} else {
			a.say("- Finding %s versions matching %q...", e.Provider.ForDisplay(), e.Constraints)
		}
	case install.AlreadyInstalled:
		a.say("- Using previously-installed %s v%s", e.Provider.ForDisplay(), e.Version)
	case install.FromCache:
		a.say("- Using %s v%s from the shared cache directory", e.Provider.ForDisplay(), e.Version)
	case install.Installing:
		a.say("- Installing %s v%s...", e.Provider.ForDisplay(), e.Version)
	case install.Waiting:
		a.say("- Waiting for another process to install %s v%s...", e.Provider.ForDisplay(), e.Version)
	case install.Installed:
		a.say("- Installed %s v%s (%s)", e.Provider.ForDisplay(), e.Version, vouched(e.Auth, e.KeyID))
	case install.Fetching:
		a.say("- Fetching %s %s for %s...", e.Provider.ForDisplay(), e.Version, e.Platform)
	case install.Fetched:
		a.say("- Retrieved %s %s for %s (%s)", e.Provider.ForDisplay(), e.Version, e.Platform, vouched(e.Auth, e.KeyID))
	}
}

func vouched(auth, key string) string {
	if key != "" {
		return auth + ", key ID " + key
	}
	return auth
}
