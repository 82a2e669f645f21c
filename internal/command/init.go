package command

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"tofu/internal/configs"
	"tofu/internal/getmodules"
	"tofu/internal/registry"
	"tofu/internal/roots"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

var cmdInit = &Command{
	Name: "init", Main: true, Short: "Set up the directory: backend, modules and providers",
	Long: `
Prepares a working directory: configures the backend that stores the state,
installs the modules and providers that the configuration requires, and records
the versions and checksums of the providers in the lock file.

It is safe to run this command any number of times. It never deletes the
configuration or the state, and unless -force-copy is given, it asks before it
copies a state to a new backend.

The backends are azurerm, consul, cos, gcs, http, inmem, kubernetes, local, oss,
pg, postgres, remote and s3. "tofu metadata backends -json" prints their
arguments.`,
	New: with((*initFlags).declare, func(ctx context.Context, app *App, f *initFlags, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		return (&initRun{app: app, flags: f}).run(ctx)
	}),
}

type initFlags struct {
	viewFlags
	varFlags
	lockFlags
	Input                           inputFlag
	Backend, Cloud, Get             bool
	BackendConfig                   []string
	ForceCopy, Reconfigure, Migrate bool
	FromModule, LockFile            string
	PluginDirs                      []string
	Upgrade, PinModules, Offline    bool
	TestDirectory                   string
	given                           func(option string) bool
}

func (f *initFlags) declare(fs *options) {
	f.given = fs.given
	f.addJSON(fs)
	f.addProgress(fs)
	f.varFlags.add(fs)
	f.lockFlags.add(fs)
	f.Input.add(fs)
	fs.BoolVar(&f.Backend, "backend", true, "Leave the backend as it was initialized before.")
	fs.BoolVar(&f.Cloud, "cloud", true, "The same as -backend=false.")
	fs.Var((*list)(&f.BackendConfig), "backend-config",
		"Backend settings in addition to those in the backend block: name=value, or the `path` of a file "+
			"with such lines. May be repeated.")
	fs.BoolVar(&f.ForceCopy, "force-copy", false,
		"Answer the questions about copying the state to a new backend with yes. Implies -migrate-state.")
	fs.StringVar(&f.FromModule, "from-module", "", "Copy the module at `source` into the directory first.")
	fs.BoolVar(&f.Get, "get", true, "Do not install modules.")
	fs.Var((*list)(&f.PluginDirs), "plugin-dir", "Take providers only from this `directory`. "+
		"May be repeated.")
	fs.BoolVar(&f.Reconfigure, "reconfigure", false, "Reconfigure the backend and ignore its previous configuration.")
	fs.BoolVar(&f.Migrate, "migrate-state", false, "Reconfigure the backend and migrate existing state to it.")
	fs.BoolVar(&f.Upgrade, "upgrade", false, "Take the newest acceptable versions of modules and providers, "+
		"whatever the lock file says.")
	fs.BoolVar(&f.Offline, "offline", false, "Take modules and providers only from this machine, and say what is "+
		"missing: use what is installed, the store of packages and local directories. The backend is used as always.")
	fs.StringVar(&f.LockFile, "lockfile", "", "How to treat the lock file. The only `mode` is readonly: check "+
		"it and do not write it.")
	fs.BoolVar(&f.PinModules, "pin-modules", false, pinModulesHelp)
	fs.StringVar(&f.TestDirectory, "test-directory", "tests", "Look for test files in this `path` too.")
	addRemoteVersion(fs)
}

func (f *initFlags) check() error {
	clash := func(when bool, first, second string) error {
		if !when {
			return nil
		}
		return badUsage("Incompatible options", "The options %s and %s can't be used together.", first, second)
	}
	for _, err := range []error{
		clash(f.Migrate && f.Reconfigure, "-migrate-state", "-reconfigure"),
		clash(f.Offline && f.Upgrade, "-offline", "-upgrade"),
		clash(f.Offline && f.FromModule != "", "-offline", "-from-module"),
		clash(f.Upgrade && f.readOnly(), "-upgrade", "-lockfile=readonly"),
		clash(f.given("backend") && f.given("cloud"), "-backend", "-cloud"),
	} {
		if err != nil {
			return err
		}
	}
	if f.LockFile != "" && !f.readOnly() {
		return badUsage("Invalid option", "There is no mode %q for -lockfile. The only one is readonly.", f.LockFile)
	}
	f.Migrate = f.Migrate || f.ForceCopy
	f.Backend = f.Backend && f.Cloud
	return nil
}

// readOnly reports whether the lock files must not change.
func (f *initFlags) readOnly() bool { return f.LockFile == "readonly" }

type initRun struct {
	app   *App
	flags *initFlags
	// note is called with the name and version of each package that is installed. It may be nil.
	note func(what string)
}

func (r *initRun) run(ctx context.Context) error {
	app, f := r.app, r.flags
	if err := f.check(); err != nil {
		return err
	}
	client := registry.New(app.CLI)
	report := &packageReport{term: app.Terminal, note: r.note}
	modules := &moduleInstaller{session: app.Session, client: client, report: report, view: &app.view}
	if f.FromModule != "" {
		if err := modules.copyRoot(ctx, f.FromModule); err != nil {
			return err
		}
	}
	queries := len(app.Parser.QueryFiles(app.RootDir)) > 0
	if !app.Parser.IsModuleDir(app.RootDir) && !queries {
		app.Note("%s\n\nThere is nothing else to initialize, because the directory has no configuration\nfiles.",
			app.Emphasis("OpenTofu initialized in an empty directory!"))
		return nil
	}
	if app.Base == "" {
		warnOfEstate(app.Warnings.Add)
	}
	if queries {
		app.Part = configs.Queries // they may need more providers
	}
	given, err := app.Collect(f.Variables)
	if err != nil {
		return err
	}
	root, err := app.LoadRootModuleWith(ctx, given)
	if err != nil {
		return err
	}
	// Report a module source that can't be evaluated before anything changes.
	if err := root.EvaluateStatics(); err != nil {
		return err
	}
	inStore := root.Module.Backend != nil && root.Module.Backend.Store != nil
	if f.Backend && !inStore {
		if err := r.backend(ctx, root); err != nil {
			return err
		}
	}
	app.Live.Phase("Installing modules", 0)
	cfg, err := modules.install(ctx, given, &installOptions{Get: f.Get, Upgrade: f.Upgrade,
		TestDirectory: f.TestDirectory, Pin: f.PinModules, ReadOnly: f.readOnly(), Offline: f.Offline})
	providers := &providerInstaller{session: app.Session, flags: f, client: client, report: report, stderr: app.stderr()}
	if err != nil && f.Offline { // name the missing providers, too, as far as the root module says which it needs
		_, _, missing := providers.ensure(ctx, root)
		err = tfdiags.Join(err, missing)
	}
	if err != nil {
		return err
	}
	if f.Backend {
		app.Encryption.Check(root, app.Warnings.Add)
	}
	app.Say("\n%s", app.Emphasis("Initializing provider plugins..."))
	app.Live.Phase("Installing providers", 0)
	if err := providers.install(ctx, cfg); err != nil {
		return err
	}
	if f.Backend && inStore { // its provider had to come first, and the state may need more providers
		app.Session.Close() // processes of versions that are no longer installed
		if err := r.backend(ctx, root); err != nil {
			return err
		}
		if err := providers.install(ctx, cfg); err != nil {
			return err
		}
	}
	app.Live.Phase("", 0)
	app.Printer.Diagnostics(app.Warnings.Take())
	app.Success("\nOpenTofu has been successfully initialized!")
	if !app.Automated {
		app.Note("\nRun \"tofu plan\" to see what would change. Run \"tofu init\" again when modules,\n" +
			"providers or the backend change; other commands say when that is necessary.")
	}
	return nil
}

// backend initializes the backend, and creates the workspace that TF_WORKSPACE names.
func (r *initRun) backend(ctx context.Context, root *session.Config) error {
	r.app.Say("\n%s", r.app.Emphasis("Initializing the backend..."))
	r.app.Live.Phase("Initializing the backend", 0)
	b := &backendInit{session: r.app.Session, flags: r.flags}
	if err := b.run(ctx, root); err != nil {
		return err
	}
	return createWorkspaceOfEnv(ctx, r.app.Session, r.flags.Variables, r.flags.LockOptions)
}

// warnOfEstate warns if the working directory or a parent directory within the Git repository has a
// file that declares root modules, which may include this directory. Without the settings in that
// file, the root module may use another state.
func warnOfEstate(warn tfdiags.Sink) {
	for dir := roots.Absolute("."); ; {
		above := filepath.Dir(dir)
		if _, err := os.Stat(filepath.Join(dir, rootsfile.FileName)); err == nil {
			warn(tfdiags.Warningf("Settings in "+rootsfile.FileName+" are not used",
				"%s declares root modules, and only \"tofu roots\" reads it. If it sets the backend, the workspace or "+
					"variables for this directory, use \"tofu roots init\" there instead of this command.",
				filepath.Join(dir, rootsfile.FileName)))
			return
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil || dir == above {
			return
		}
		dir = above
	}
}

// copyRoot initializes a working directory with a copy of a module.
func (m *moduleInstaller) copyRoot(ctx context.Context, source string) error {
	present, err := os.ReadDir(".")
	if err != nil {
		return err
	}
	for _, entry := range present {
		if !mayPrecedeModule[entry.Name()] {
			return tfdiags.Errorf("Can't populate a directory that isn't empty",
				"The option -from-module copies a module into the working directory, which already has %s. "+
					"Use an empty directory, or leave out the option to initialize the configuration that is here.",
				strconv.Quote(entry.Name()))
		}
	}
	m.session.Say("Copying configuration from %q...", source)
	progress := newDownloads(m.session, m.view)
	defer progress.end()
	in, err := getmodules.NewInstaller(&getmodules.Options{Dir: m.session.ModulesDir(), Client: m.client,
		Observe: progress.modules(m.report.module)})
	if err != nil {
		return err
	}
	if err := in.CopyRoot(ctx, source, "."); err != nil {
		return tfdiags.Errorf("Failed to copy the module",
			"The module %q could not be copied into the working directory, which was not changed. %s",
			source, tfdiags.Sentence(err))
	}
	m.session.Parser.Forget(m.session.RootDir) // it was empty
	return nil
}

// mayPrecedeModule holds the names that a directory may contain before a module is copied into
// it. If the module has entries with these names, they are not copied.
var mayPrecedeModule = map[string]bool{".terraform": true, ".git": true, ".hg": true}
