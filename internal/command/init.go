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
	"tofu/internal/tfdiags"
	"tofu/internal/version"
)

var cmdInit = &Command{
	Name: "init", Main: true, Short: "Set up the directory: backend, modules and providers",
	Long: `
Prepares a working directory: configures the backend that stores the state,
installs the modules and providers that the configuration requires, and records
the versions and checksums of the providers in the lock file.

It is safe to run this command any number of times. It never deletes the
configuration or the state.

The backends are azurerm, consul, cos, gcs, http, inmem, kubernetes, local, oss,
pg, postgres, remote and s3. "tofu metadata backends -json" prints their
arguments.`,
	New: with((*initFlags).declare, func(ctx context.Context, app *App, f *initFlags, args []string) error {
		return runInit(ctx, app, f, args)
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
	Upgrade, PinModules             bool
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
		"Backend settings besides those of the backend block: name=value, or the `path` of a file with such "+
			"lines. May be repeated.")
	fs.BoolVar(&f.ForceCopy, "force-copy", false,
		"Answer the questions about copying the state to a new backend with yes.")
	fs.StringVar(&f.FromModule, "from-module", "", "Copy the module at `source` into the directory first.")
	fs.BoolVar(&f.Get, "get", true, "Do not install modules.")
	fs.Var((*list)(&f.PluginDirs), "plugin-dir", "Take providers from this `directory` and from nowhere else. "+
		"May be repeated.")
	fs.BoolVar(&f.Reconfigure, "reconfigure", false, "Reconfigure the backend and ignore its previous configuration.")
	fs.BoolVar(&f.Migrate, "migrate-state", false, "Reconfigure the backend and migrate existing state to it.")
	fs.BoolVar(&f.Upgrade, "upgrade", false, "Take the newest acceptable versions of modules and providers, "+
		"whatever the lock file says.")
	fs.StringVar(&f.LockFile, "lockfile", "", "How to treat the lock file. The only `mode` is readonly: check "+
		"it and do not write it.")
	fs.BoolVar(&f.PinModules, "pin-modules", false, pinModulesHelp)
	fs.StringVar(&f.TestDirectory, "test-directory", "tests", "Look for test files in this `path` too.")
	addRemoteVersion(fs)
}

func (f *initFlags) check(args []string) error {
	clash := func(when bool, first, second string) error {
		if !when {
			return nil
		}
		return badUsage("Incompatible options", "The options %s and %s can't be used together.", first, second)
	}
	for _, err := range []error{
		noArguments(args),
		clash(f.Migrate && f.Reconfigure, "-migrate-state", "-reconfigure"),
		clash(f.Upgrade && f.readOnly(), "-upgrade", "-lockfile=readonly"),
		clash(f.given("backend") && f.given("cloud"), "-backend", "-cloud"),
	} {
		if err != nil {
			return err
		}
	}
	f.Migrate = f.Migrate || f.ForceCopy
	f.Backend = f.Backend && f.Cloud
	return nil
}

// readOnly reports whether the lock files must not change.
func (f *initFlags) readOnly() bool { return f.LockFile == "readonly" }

func runInit(ctx context.Context, app *App, f *initFlags, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	client := registry.New(app.CLI, version.String)
	if f.FromModule != "" {
		if err := app.copyFromModule(ctx, f.FromModule, client); err != nil {
			return err
		}
	}
	if !app.Parser.IsModuleDir(app.RootDir) {
		app.Say("%s\n\nThere is nothing else to initialize, because the directory has no configuration\nfiles.",
			app.emphasis("OpenTofu initialized in an empty directory!"))
		return nil
	}
	if app.Base == "" {
		app.warnOfEstate()
	}
	given, err := app.Collect(f.Variables)
	if err != nil {
		return err
	}
	root, err := app.LoadRootModuleWith(ctx, given)
	if err != nil {
		return err
	}
	if f.Backend {
		app.Say("\n%s", app.emphasis("Initializing the backend..."))
		app.Live.Phase("Initializing the backend", 0)
		if err := app.initBackend(ctx, root, f); err != nil {
			return err
		}
		if err := app.createWorkspaceOfEnv(ctx, f); err != nil {
			return err
		}
	}
	app.Live.Phase("Installing modules", 0)
	cfg, err := app.installModules(ctx, given, &installOptions{Get: f.Get, Upgrade: f.Upgrade,
		TestDirectory: f.TestDirectory, Pin: f.PinModules, ReadOnly: f.readOnly()}, client)
	if err != nil {
		return err
	}
	if f.Backend {
		app.CheckEncryption(root)
	}
	app.Say("\n%s", app.emphasis("Initializing provider plugins..."))
	app.Live.Phase("Installing providers", 0)
	if err := app.installProviders(ctx, cfg, f, client); err != nil {
		return err
	}
	app.Live.Phase("", 0)
	app.Printer.Diagnostics(app.Warnings.Take())
	app.Success("\nOpenTofu has been successfully initialized!")
	if !app.Automated {
		app.Say("\n\"tofu plan\" shows what there is to do. Run \"tofu init\" again when modules,\n" +
			"providers or the backend change; other commands say when that is necessary.")
	}
	return nil
}

// warnOfEstate warns if a directory above has a file that declares root modules and may be
// meant for this directory. Without the settings in that file, the root module may use another
// state.
func (a *App) warnOfEstate() {
	for dir := roots.Absolute("."); ; {
		above := filepath.Dir(dir)
		if _, err := os.Stat(filepath.Join(dir, rootsfile.FileName)); err == nil {
			a.Warnings.Add(tfdiags.Warningf("Settings in "+rootsfile.FileName+" are not used",
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

// emphasis returns text in bold.
func (a *App) emphasis(text string) string {
	on, off := a.Bold()
	return on + text + off
}

// copyFromModule initializes a working directory with a copy of a module.
func (a *App) copyFromModule(ctx context.Context, source string, client *registry.Client) error {
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
	a.Say("Copying configuration from %q...", source)
	progress := a.newDownloads()
	defer progress.end()
	in, err := getmodules.NewInstaller(&getmodules.Options{Dir: a.ModulesDir(), Client: client,
		Observe: progress.modules(a.printModule)})
	if err != nil {
		return err
	}
	if err := in.CopyRoot(ctx, source, "."); err != nil {
		return tfdiags.Errorf("Failed to copy the module",
			"The module %q could not be copied into the working directory, which was not changed: %s.", source, err)
	}
	a.Parser = configs.NewParser(nil) // the old parser has cached the empty directory
	return nil
}

// mayPrecedeModule holds the names that a directory may contain before a module is copied into
// it. If the module has entries with these names, they are not copied.
var mayPrecedeModule = map[string]bool{".terraform": true, ".git": true, ".hg": true}
