package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/getmodules"
	"tofu/internal/registry"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

const pinModulesHelp = "Pin modules that are not local. The pins are in the file .terraform.modules.lock.hcl, which " +
	"later runs of init and get use until it is removed."

var cmdGet = &Command{
	Name: "get", Short: "Install the modules",
	Long: `
Installs the modules that the configuration calls. "tofu init" does this too,
so you rarely need this command.`,
	New: with(func(f *getFlags, fs *options) {
		f.addJSON(fs)
		f.varFlags.add(fs)
		fs.BoolVar(&f.Update, "update", false,
			"Take the newest acceptable versions of modules that are installed already.")
		fs.BoolVar(&f.PinModules, "pin-modules", false, pinModulesHelp)
		fs.StringVar(&f.TestDirectory, "test-directory", "tests", "Look for test files in this `path` too.")
	}, func(ctx context.Context, app *App, f *getFlags, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		given, err := app.Collect(f.Variables)
		if err != nil {
			return err
		}
		want := &installOptions{Get: true, Always: true, Upgrade: f.Update, TestDirectory: f.TestDirectory,
			Pin: f.PinModules}
		modules := &moduleInstaller{session: app.Session, client: registry.New(app.CLI),
			report: &packageReport{term: app.Terminal}, view: &app.view}
		_, err = modules.install(ctx, given, want)
		return err
	}),
}

type getFlags struct {
	viewFlags
	varFlags
	Update, PinModules bool
	TestDirectory      string
}

// installOptions say which modules to install, and how.
type installOptions struct {
	Get           bool // whether to install modules; otherwise, only the installed ones are read
	Always        bool // whether to record the installed modules even if no module is called
	Upgrade       bool
	TestDirectory string // directory of the tests whose modules are installed too
	Pin           bool   // whether to create the module lock file, which pins modules that are not local
	Offline       bool   // whether modules that aren't on this machine are errors
	ReadOnly      bool   // whether changes of pins are errors
}

// moduleInstaller installs modules in a working directory.
type moduleInstaller struct {
	session *session.Session
	client  *registry.Client
	report  *packageReport
	view    *viewFlags
}

// install installs the modules that the configuration and its tests call, and returns the whole
// configuration.
func (m *moduleInstaller) install(
	ctx context.Context, given map[string]configs.Given, want *installOptions,
) (*session.Config, error) {
	s := m.session
	if !want.Get {
		resolve, err := getmodules.Installed(s.ModulesDir(), s.Base)
		if err != nil {
			return nil, err
		}
		return loadWithTests(ctx, s, given, want.TestDirectory, resolve)
	}
	locks, pinned, err := depsfile.LoadModules(s.ModuleLockFile())
	if err != nil {
		return nil, err
	}
	defer s.Timings.Phase("modules")()
	announced := false
	progress := newDownloads(s, m.view)
	defer progress.end()
	in, err := getmodules.NewInstaller(&getmodules.Options{
		Dir: s.ModulesDir(), Base: s.Base, Client: m.client, Upgrade: want.Upgrade, Pin: pinned || want.Pin, Pins: locks,
		Always: want.Always, Offline: want.Offline,
		Observe: progress.modules(func(e getmodules.Event) {
			if !announced {
				announced = true
				s.Say("\n%s", s.Emphasis("Initializing modules..."))
			}
			m.report.module(e)
		}),
		Warn: s.Warnings.Add,
	})
	if err != nil {
		return nil, err
	}
	cfg, err := loadWithTests(ctx, s, given, want.TestDirectory, in.Resolve)
	// Record the installed modules even after errors, so that other commands can report the errors.
	if err := tfdiags.Join(err, in.Finish()); err != nil {
		return nil, err
	}
	if pinned || want.Pin {
		pins := &pinUpdate{path: s.ModuleLockFile(), old: locks, locks: in.Pins(), first: !pinned,
			readOnly: want.ReadOnly}
		if err := pins.save(s.Terminal); err != nil {
			return nil, err
		}
	}
	return cfg, nil
}

// pinUpdate replaces the pins in the module lock file.
type pinUpdate struct {
	path       string // path of the module lock file
	old, locks depsfile.ModuleLocks
	first      bool // the module lock file doesn't exist yet
	readOnly   bool // whether changes of the module lock file are errors
}

// save writes the module lock file if it is new or changed, and prints what changed.
func (u *pinUpdate) save(term *terminal.Terminal) error {
	if !u.first && slices.Equal(u.old, u.locks) {
		return nil
	}
	if u.readOnly && u.first {
		return tfdiags.Errorf("Module dependency changes detected",
			"-pin-modules requests the new file %s, and -lockfile=readonly forbids it. Use only one of these options.",
			depsfile.ModulesFileName)
	}
	if u.readOnly {
		return tfdiags.Errorf("Module dependency changes detected",
			"The modules of the configuration differ from those that %s pins, and -lockfile=readonly leaves the file "+
				"unchanged. "+withoutReadonly, depsfile.ModulesFileName)
	}
	if err := u.locks.Save(u.path); err != nil {
		return fmt.Errorf("pinning modules: %w", err)
	}
	switch {
	case u.first && len(u.locks) == 0:
		term.Note("\nAll modules are local so far. Other modules will be pinned in the new file\n%s. Commit it.",
			depsfile.ModulesFileName)
	case u.first:
		term.Note("\nAll modules that are not local are pinned in the new file\n%s. Commit it.",
			depsfile.ModulesFileName)
	default:
		term.Say("\nThe pins in %s changed:%s\nReview and commit them.", depsfile.ModulesFileName, u.changes())
	}
	return nil
}

// changes lists the changed pins. It abbreviates revisions.
func (u *pinUpdate) changes() string {
	type name struct{ source, version string }
	before := make(map[name]depsfile.ModuleLock, len(u.old))
	for _, lock := range u.old {
		before[name{lock.Source, lock.Version}] = lock
	}
	var text strings.Builder
	for _, lock := range u.locks {
		n := name{lock.Source, lock.Version}
		was, known := before[n]
		delete(before, n)
		switch {
		case !known:
			fmt.Fprintf(&text, "\n  + %s", pinText(lock))
		case was.Revision != lock.Revision:
			fmt.Fprintf(&text, "\n  ~ %s: %s is now %s", lock.Source, short(was.Revision), short(lock.Revision))
		case was != lock:
			fmt.Fprintf(&text, "\n  ~ %s: other files", pinText(lock))
		}
	}
	for _, lock := range u.old {
		if _, gone := before[name{lock.Source, lock.Version}]; gone {
			fmt.Fprintf(&text, "\n  - %s", pinText(lock))
		}
	}
	return text.String()
}

func pinText(lock depsfile.ModuleLock) string {
	return strings.Join(slices.DeleteFunc([]string{lock.Source, lock.Version, short(lock.Revision)},
		func(s string) bool { return s == "" }), " ")
}

// short returns the first 12 characters of a commit or digest.
func short(revision string) string {
	revision = strings.TrimPrefix(revision, "sha256:")
	return revision[:min(len(revision), 12)]
}
