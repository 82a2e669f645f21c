package command

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
	"tofu/internal/getmodules"
	"tofu/internal/registry"
	"tofu/internal/tfdiags"
	"tofu/internal/version"
)

var cmdProvidersLock = &Command{
	Name: "lock", Args: "[PROVIDER…] or, with -recursive, [DIR…]", Short: "Write provider checksums for more platforms to the lock file",
	Long: `
Records checksums of the required providers for one or more platforms in the
lock file, so that the configuration can be used there. By default the platform
is this one and all required providers are locked; they come from their own
registries, whatever the CLI configuration says.

With -recursive, the lock files of all root modules below the given directories
(by default the current one) are brought up to date in one run: each package is
fetched and hashed once, however many modules use it. Modules that are neither
local nor installed are fetched for the time being, to see what they need. A
locked version that does not meet the constraints any more is replaced by the
newest one that does. With -check nothing is written; the exit status is 1 when something would be.`,
	Flags: func(fs *flag.FlagSet) any {
		f := &providersLockFlags{}
		f.addJSON(fs)
		f.varFlags.add(fs)
		fs.Var((*list)(&f.Platforms), "platform", "Lock for this `os_arch`, such as linux_amd64. May be repeated.")
		fs.StringVar(&f.FSMirror, "fs-mirror", "", "Take the packages from a mirror in this `directory`.")
		fs.StringVar(&f.NetMirror, "net-mirror", "", "Take the packages from the network mirror at this `url`.")
		fs.BoolVar(&f.Recursive, "recursive", false, "Lock all root modules below the given directories.")
		fs.BoolVar(&f.Check, "check", false, "With -recursive: write nothing, and fail when a lock file is incomplete or out of date.")
		fs.BoolVar(&f.Upgrade, "upgrade", false, "With -recursive: take the newest acceptable versions, whatever the lock files say.")
		return f
	},
	Run: func(ctx context.Context, app *App, flags any, args []string) error {
		f := flags.(*providersLockFlags)
		if f.Recursive {
			return app.lockRecursive(ctx, f, args)
		}
		return app.lockProviders(ctx, f, args)
	},
}

type providersLockFlags struct {
	viewFlags
	varFlags
	Platforms                 []string
	FSMirror, NetMirror       string
	Recursive, Check, Upgrade bool
}

// lockProviders is `providers lock` for the current directory.
func (a *App) lockProviders(ctx context.Context, f *providersLockFlags, args []string) error {
	if f.Check || f.Upgrade {
		return badUsage("Incompatible options", "-check and -upgrade need -recursive.")
	}
	progress := a.newDownloads()
	defer progress.end()
	locker, platforms, cleanup, err := a.newLocker(f, progress)
	if err != nil {
		return err
	}
	defer cleanup()
	if err := a.requireConfig(); err != nil {
		return err
	}
	cfg, diags := a.loadConfig(ctx, f.varFlags)
	if diags.HasErrors() {
		return diags.Err()
	}
	reqs, more := chosenProviders(requirements(cfg.Config, nil), args)
	diags = diags.Append(more)
	prev, more := depsfile.Load(depsfile.FileName)
	diags = diags.Append(more)
	if diags.HasErrors() {
		return diags.Err()
	}
	locks, added, more := locker.Lock(ctx, reqs, prev, platforms)
	progress.end()
	diags = diags.Append(more)
	if diags.HasErrors() {
		return diags.Err()
	}
	for _, item := range added {
		a.say("- Obtained %s checksums for %s; %s", item.Provider.ForDisplay(), item.Platform, addedText(item))
	}
	changed, err := locks.SaveIfChanged(depsfile.FileName)
	if err != nil {
		return err
	}
	if changed {
		a.say("\n%s The lock file was updated.\n\nReview and commit the changes in %s.\n", a.emphasis("Success!"), depsfile.FileName)
	} else {
		a.say("\n%s The lock file has all of them already.", a.emphasis("Success!"))
	}
	return a.done(diags)
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

// newLocker makes the locker that the options ask for, and gives the platforms.
func (a *App) newLocker(f *providersLockFlags, progress *downloads) (*install.Locker, []depsfile.Platform, func(), error) {
	platforms, err := parsePlatforms(f.Platforms)
	if err != nil {
		return nil, nil, nil, err
	}
	client := registry.New(a.CLI, version.String)
	var source sources.Source
	switch {
	case f.FSMirror != "" && f.NetMirror != "":
		return nil, nil, nil, badUsage("Invalid installation method options", "The -fs-mirror and -net-mirror options can't be used together.")
	case f.FSMirror != "":
		source = sources.Filesystem{Dir: f.FSMirror}
	case f.NetMirror != "":
		mirror, err := sources.NewNetworkMirror(client, f.NetMirror, a.CLI.DownloadRetries)
		if err != nil {
			return nil, nil, nil, badUsage("Invalid network mirror URL", "%s.", err)
		}
		source = mirror
	default:
		source = sources.NewDirect(client, a.CLI.DownloadRetries)
	}
	store, err := pkgstore.Open(a.CLI.CacheDir)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("opening the package store: %w", err)
	}
	locker := install.NewLocker(&install.Options{Source: source, Store: store, Upgrade: f.Upgrade, Replace: f.Recursive, Observe: progress.observe(a.tellInstall)})
	return locker, platforms, func() { _ = store.Close() }, nil
}

// parsePlatforms reads -platform options; without any it is this machine's.
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

// chosenProviders keeps the requirements that arguments name; without arguments all.
func chosenProviders(reqs depsfile.Requirements, args []string) (depsfile.Requirements, tfdiags.Diagnostics) {
	if len(args) == 0 {
		return reqs, nil
	}
	var diags tfdiags.Diagnostics
	chosen := make(depsfile.Requirements)
	for _, arg := range args {
		p, err := addrs.ParseProvider(arg)
		if err != nil {
			diags = diags.Append(tfdiags.Errorf("Invalid provider argument", "%q is no provider source address: %s.", arg, err))
			continue
		}
		c, ok := reqs[p]
		if !ok {
			diags = diags.Append(tfdiags.Errorf("Invalid provider argument", "The provider %s is not required by the configuration.", p))
			continue
		}
		chosen[p] = c
	}
	return chosen, diags
}

// lockRecursive is `providers lock -recursive`.
func (a *App) lockRecursive(ctx context.Context, f *providersLockFlags, dirs []string) error {
	progress := a.newDownloads()
	defer progress.end()
	locker, platforms, cleanup, err := a.newLocker(f, progress)
	if err != nil {
		return err
	}
	defer cleanup()
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	shared := getmodules.NewShared(ctx, registry.New(a.CLI, version.String))
	defer func() { _ = shared.Close() }()
	roots, broken, diags := findRoots(ctx, dirs, shared)
	if ctx.Err() != nil {
		return diags.Err()
	}
	for _, dir := range broken {
		a.say("- %s: failed", dir)
	}
	var updated, current, done int
	finish := func(root install.Root, r install.RootResult) {
		switch {
		case r.Diags.HasErrors():
			a.say("- %s: failed", root.Dir)
		case !r.Locks.Differs(root.LockFile()):
			current++
			a.say("- %s: up to date", root.Dir)
		case f.Check:
			updated++
			a.say("- %s: needs an update (%s)", root.Dir, summary(r))
		default:
			if err := r.Locks.Save(root.LockFile()); err != nil {
				diags = diags.Append(err)
				return
			}
			updated++
			a.say("- %s: updated (%s)", root.Dir, summary(r))
		}
	}
	results := locker.LockAll(ctx, roots, platforms, func(i int, r install.RootResult) {
		progress.around(func() { finish(roots[i], r) })
		done++
		progress.remark(fmt.Sprintf("%d of %d root modules", done, len(roots)))
	})
	progress.end()
	failed := len(broken)
	for i, r := range results {
		for _, d := range r.Diags {
			if d.Severity == tfdiags.Error {
				d.Detail = "In " + roots[i].Dir + ": " + d.Detail
			}
			diags = diags.Append(d)
		}
		if r.Diags.HasErrors() {
			failed++
		}
	}
	verb := "updated"
	if f.Check {
		verb = "to be updated"
	}
	a.say("\n%d root modules: %d %s, %d up to date, %d failed.", len(roots)+len(broken), updated, verb, current, failed)
	if f.Check && updated > 0 {
		diags = diags.Append(tfdiags.Errorf("Lock files are out of date", "%d lock files are incomplete or out of date. Run \"tofu providers lock -recursive\" with the same platforms to update them.", updated))
	}
	return a.done(diags)
}

// summary says in short what is new in a lock file.
func summary(r install.RootResult) string {
	more := make(map[addrs.Provider]bool)
	for _, item := range r.Added {
		if item.New || item.More {
			more[item.Provider] = true
		}
	}
	var names []string
	for _, p := range r.Locks.Providers() {
		if lock, _ := r.Locks.Provider(p); more[p] {
			names = append(names, p.ForDisplay()+" "+lock.Version.String())
		}
	}
	if len(names) == 0 {
		return "constraints"
	}
	return strings.Join(names, ", ")
}
