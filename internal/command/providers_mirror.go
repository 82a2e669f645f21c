package command

import (
	"context"
	"fmt"

	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/session"
	"tofu/internal/version"
)

var cmdProvidersMirror = &Command{
	Name: "mirror", Args: "DIR", Short: "Save copies of the required providers in a directory",
	Long: `
Saves the packages of all required providers and their indexes in a directory,
which can be used as a filesystem mirror, or as a network mirror if a web server
serves it. Existing packages in the directory are kept.`,
	New: with(func(f *providersMirrorFlags, fs *options) {
		f.addJSON(fs)
		f.varFlags.add(fs)
		fs.Var((*list)(&f.Platforms), "platform",
			"Mirror packages for this `os_arch`, such as linux_amd64. May be repeated.")
	}, func(ctx context.Context, app *App, f *providersMirrorFlags, args []string) error {
		return app.mirrorProviders(ctx, f, args)
	}),
}

type providersMirrorFlags struct {
	viewFlags
	varFlags
	Platforms []string
}

func (a *App) mirrorProviders(ctx context.Context, f *providersMirrorFlags, args []string) error {
	if len(args) != 1 {
		return badUsage("Wrong number of arguments", "The command takes one argument: the directory of the mirror.")
	}
	platforms, err := parsePlatforms(f.Platforms)
	if err != nil {
		return err
	}
	if err := a.RequireConfig(); err != nil {
		return err
	}
	cfg, err := a.LoadConfig(ctx, f.Variables)
	if err != nil {
		return err
	}
	prev, err := depsfile.Load(depsfile.FileName, a.Warnings.Add)
	if err != nil {
		return err
	}
	store, err := pkgstore.Open(a.CLI.CacheDir)
	if err != nil {
		return fmt.Errorf("opening the package store: %w", err)
	}
	defer func() { _ = store.Close() }()
	source := sources.NewDirect(registry.New(a.CLI, version.String), a.CLI.DownloadRetries)
	progress := a.newDownloads()
	err = install.Mirror(ctx, session.Requirements(cfg.Config, nil), prev, platforms, args[0],
		&install.Options{Source: source, Store: store, Observe: progress.providers(a.reportMirror)})
	progress.end()
	return err
}

// reportMirror prints an event of mirroring a provider.
func (a *App) reportMirror(e install.Event) {
	switch e := e.(type) {
	case install.Builtin:
		a.Say("- Skipping %s, which is part of tofu", e.Provider.ForDisplay())
	case install.Mirroring:
		reason := "with no constraints"
		switch {
		case e.Locked:
			reason = "to match dependency lock file"
		case e.Constraints != "":
			reason = "to meet constraints " + e.Constraints
		}
		a.Say("- Mirroring %s...\n  - Selected v%s %s", e.Provider.ForDisplay(), e.Version, reason)
	case install.Fetching:
		a.Say("  - Downloading package of %s for %s...", e.Provider.ForDisplay(), e.Platform)
	case install.Fetched:
		a.Say("  - Package of %s for %s authenticated: %s", e.Provider.ForDisplay(), e.Platform,
			describeAuth(e.Auth, e.KeyID))
	}
}
