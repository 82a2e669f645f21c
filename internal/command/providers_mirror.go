package command

import (
	"context"
	"fmt"

	"tofu/internal/cliconfig"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/session"
)

var cmdProvidersMirror = &Command{
	Name: "mirror", Args: "DIR", Short: "Save copies of the required providers in a directory",
	Long: `
Saves the packages of all required providers and their indexes in a directory,
which can be used as a filesystem mirror, or as a network mirror if a web server
serves it. Existing packages in the directory are kept. If there is a dependency
lock file, the versions are those that it selects. The packages come from the
installation methods of the CLI configuration if it has a block
provider_installation, and otherwise from the providers' own registries.`,
	New: with(func(f *providersMirrorFlags, fs *options) {
		f.addJSON(fs)
		f.varFlags.add(fs)
		f.testsFlag.add(fs)
		fs.Var((*list)(&f.Platforms), "platform",
			"Mirror packages for this `os_arch`, such as linux_amd64. May be repeated.")
		fs.BoolVar(&f.LockFile, "lock-file", true,
			"Mirror the newest versions that the version constraints allow, whatever the dependency lock file selects.")
	}, func(ctx context.Context, app *App, f *providersMirrorFlags, args []string) error {
		if len(args) != 1 {
			return badUsage("Wrong number of arguments", "The command takes one argument: the directory of the mirror.")
		}
		return mirrorProviders(ctx, app.Session, f, args[0])
	}),
}

type providersMirrorFlags struct {
	viewFlags
	varFlags
	testsFlag
	Platforms []string
	LockFile  bool // mirror the versions that the lock file selects
}

// mirrorProviders copies the required providers to the mirror in dir.
func mirrorProviders(ctx context.Context, s *session.Session, f *providersMirrorFlags, dir string) error {
	platforms, err := parsePlatforms(f.Platforms)
	if err != nil {
		return err
	}
	if err := session.RequireConfig(s.Parser, s.RootDir); err != nil {
		return err
	}
	reqs, err := f.requirements(ctx, s, f.Variables)
	if err != nil {
		return err
	}
	var prev *depsfile.Locks
	if f.LockFile {
		if prev, err = depsfile.Load(depsfile.FileName, s.Warnings.Add); err != nil {
			return err
		}
	}
	store, err := pkgstore.Open(s.CLI.CacheDir)
	if err != nil {
		return fmt.Errorf("opening the package store: %w", err)
	}
	defer func() { _ = store.Close() }()
	source, err := mirrorSource(s.CLI)
	if err != nil {
		return err
	}
	report := &packageReport{term: s.Terminal}
	progress := newDownloads(s, &f.viewFlags)
	err = install.Mirror(ctx, reqs, prev, platforms, dir,
		&install.Options{Source: source, Store: store, Observe: progress.providers(report.mirrored)})
	progress.end()
	return err
}

// mirrorSource returns the source of packages for a mirror. Directories that are searched without
// any configuration are not a source, because they are often mirrors that this command writes.
func mirrorSource(cli *cliconfig.Config) (sources.Source, error) {
	client := registry.New(cli)
	if cli.Methods == nil {
		return sources.NewDirect(client, cli.DownloadRetries), nil
	}
	return sources.FromConfig(cli, client)
}
