package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/cliconfig"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/registry/oci"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

var cmdProvidersLock = &Command{
	Name: "lock", Args: "[PROVIDER…] or, with -recursive, [DIR…]", Complete: providerNames, CompleteAll: true,
	Short: "Write provider checksums for more platforms to the lock file",
	Long: `
Records the checksums of the required providers for one or more platforms in
the lock file, so that the configuration can be used on these platforms. The
defaults are the current platform and all required providers. Unless an option
selects a mirror, the packages come from the providers' own registries, whatever
the CLI configuration says.

With -recursive, updates the lock files of all root modules below the given
directories (default: the current one) in one run. Each package is fetched and
hashed once, even if several modules use it. Modules that are neither local nor
installed are fetched temporarily to find their requirements. A locked version
that no longer satisfies the constraints is replaced with the newest one that
does. Hidden directories and symbolic links are skipped, except for the root modules
that a roots.tofu.hcl in one of the directories declares. With -check, nothing is
written, and the exit status is 1 if a file would change.`,
	New: with(func(f *providersLockFlags, fs *options) {
		f.addJSON(fs)
		f.varFlags.add(fs)
		f.testsFlag.add(fs)
		fs.Var((*list)(&f.Platforms), "platform", "Lock for this `os_arch`, such as linux_amd64. May be repeated.")
		fs.StringVar(&f.FSMirror, "fs-mirror", "", "Take the packages from a mirror in this `directory`.")
		fs.StringVar(&f.NetMirror, "net-mirror", "", "Take the packages from the network mirror at this `url`.")
		fs.StringVar(&f.OCIMirror, "oci-mirror", "",
			"Take the packages from OCI repositories with addresses like this URI `template`: "+
				"example.com/{namespace}/{type}.")
		fs.BoolVar(&f.Recursive, "recursive", false, "Lock all root modules below the given directories.")
		fs.BoolVar(&f.Check, "check", false, "With -recursive: write nothing, and fail when a lock file is "+
			"incomplete or out of date.")
		fs.BoolVar(&f.Upgrade, "upgrade", false,
			"With -recursive: take the newest acceptable versions, whatever the lock files say.")
	}, func(ctx context.Context, app *App, f *providersLockFlags, args []string) error {
		if f.Recursive {
			return lockRecursive(ctx, app.Session, f, args)
		}
		return lockProviders(ctx, app.Session, f, args)
	}),
}

type providersLockFlags struct {
	viewFlags
	varFlags
	testsFlag
	Platforms                      []string
	FSMirror, NetMirror, OCIMirror string
	Recursive, Check, Upgrade      bool
}

// lockProviders runs `providers lock` for the current directory.
func lockProviders(ctx context.Context, s *session.Session, f *providersLockFlags, args []string) error {
	if f.Check || f.Upgrade {
		return badUsage("Incompatible options", "-check and -upgrade need -recursive.")
	}
	job, err := openLockJob(s, f)
	if err != nil {
		return err
	}
	defer job.close()
	if err := session.RequireConfig(s.Parser, s.RootDir); err != nil {
		return err
	}
	reqs, err := f.requirements(ctx, s, f.Variables)
	if err != nil {
		return err
	}
	reqs, reqsErr := chosenProviders(reqs, args)
	prev, err := depsfile.Load(depsfile.FileName, s.Warnings.Add)
	if err := tfdiags.Join(reqsErr, err); err != nil {
		return err
	}
	locks, added, err := job.locker.Lock(ctx, reqs, prev, job.platforms)
	job.progress.end()
	if err != nil {
		return err
	}
	for _, item := range added {
		s.Say("- Obtained %s checksums for %s; %s", item.Provider.ForDisplay(), item.Platform, addedText(item))
	}
	changed, err := locks.SaveIfChanged(depsfile.FileName)
	if err != nil {
		return err
	}
	if changed {
		s.Say("\n%s The lock file was updated.\n\nReview and commit the changes in %s.\n",
			s.Emphasis("Success!"), depsfile.FileName)
	} else {
		s.Say("\n%s The lock file already has all of these checksums.", s.Emphasis("Success!"))
	}
	return nil
}

func addedText(item install.Added) string {
	switch {
	case item.New:
		return "the provider is new in the lock file"
	case item.More:
		return "some are new in the lock file"
	}
	return "the lock file had all of them"
}

// lockJob holds what is needed to lock the providers of one or more modules.
type lockJob struct {
	locker    *install.Locker
	platforms []depsfile.Platform
	progress  *downloads
	store     *pkgstore.Store
}

func (j *lockJob) close() {
	j.progress.end()
	_ = j.store.Close()
}

// openLockJob prepares a lockJob for the options.
func openLockJob(s *session.Session, f *providersLockFlags) (*lockJob, error) {
	platforms, err := parsePlatforms(f.Platforms)
	if err != nil {
		return nil, err
	}
	source, err := lockSource(s.CLI, f)
	if err != nil {
		return nil, err
	}
	store, err := pkgstore.Open(s.CLI.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("opening the package store: %w", err)
	}
	progress := newDownloads(s, &f.viewFlags)
	report := &packageReport{term: s.Terminal}
	locker := install.NewLocker(&install.Options{Source: source, Store: store, Upgrade: f.Upgrade,
		Replace: f.Recursive, Observe: progress.providers(report.provider)})
	return &lockJob{locker, platforms, progress, store}, nil
}

// lockSource returns the package source that the options select. The default is the providers'
// registries.
func lockSource(cli *cliconfig.Config, f *providersLockFlags) (sources.Source, error) {
	client := registry.New(cli)
	given := slices.DeleteFunc([]string{f.FSMirror, f.NetMirror, f.OCIMirror}, func(s string) bool { return s == "" })
	if len(given) > 1 {
		return nil, badUsage("Invalid installation method options",
			"Only one of the options -fs-mirror, -net-mirror and -oci-mirror can be used.")
	}
	switch {
	case f.FSMirror != "":
		return sources.Filesystem{Dir: f.FSMirror}, nil
	case f.NetMirror != "":
		mirror, err := sources.NewNetworkMirror(client, f.NetMirror, cli.DownloadRetries)
		if err != nil {
			return nil, badUsage("Invalid network mirror URL", "%s", tfdiags.Sentence(err))
		}
		return mirror, nil
	case f.OCIMirror != "":
		mirror, err := sources.NewOCIMirrorURI(oci.New(client), strings.TrimPrefix(f.OCIMirror, "oci://"))
		if err != nil {
			return nil, badUsage("Invalid OCI mirror template", "%s", tfdiags.Sentence(err))
		}
		mirror.MinAge = cli.MinAge
		return mirror, nil
	}
	return sources.NewDirect(client, cli.DownloadRetries), nil
}

// parsePlatforms parses -platform options. The default is the platform of this machine.
func parsePlatforms(texts []string) ([]depsfile.Platform, error) {
	if len(texts) == 0 {
		return []depsfile.Platform{depsfile.CurrentPlatform()}, nil
	}
	var platforms []depsfile.Platform
	for _, text := range texts {
		p, err := depsfile.ParsePlatform(text)
		if err != nil {
			return nil, badUsage("Invalid target platform", "The -platform option: %s.", err)
		}
		if !slices.Contains(platforms, p) {
			platforms = append(platforms, p)
		}
	}
	return platforms, nil
}

// chosenProviders returns the requirements for the providers that the arguments name, or all
// requirements if there are no arguments.
func chosenProviders(reqs depsfile.Requirements, args []string) (depsfile.Requirements, error) {
	if len(args) == 0 {
		return reqs, nil
	}
	var errs tfdiags.Diagnostics
	chosen := make(depsfile.Requirements)
	for _, arg := range args {
		p, err := addrs.ParseProvider(arg)
		if err != nil {
			errs = errs.Append(tfdiags.Errorf("Invalid provider argument", "%s", tfdiags.Sentence(err)))
			continue
		}
		c, ok := reqs[p]
		if !ok {
			errs = errs.Append(tfdiags.Errorf("Invalid provider argument",
				"The provider %s is not required by the configuration.", p))
			continue
		}
		chosen[p] = c
	}
	return chosen, errs.Err()
}
