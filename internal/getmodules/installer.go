package getmodules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/tfdiags"
)

// Options configure an [Installer].
type Options struct {
	// Dir is the directory in which modules are installed: ".terraform/modules".
	Dir string
	// Base is the directory of the root module; "" means the working directory.
	Base   string
	Client *registry.Client
	// Upgrade fetches all packages again and selects the newest versions.
	Upgrade bool
	// Pin compares remote packages with Pins, and records the pins of the packages in use; see
	// Installer.Pins.
	Pin  bool
	Pins depsfile.ModuleLocks
	// Offline makes it an error if a package is not installed and not on this machine.
	Offline bool
	// Always writes the manifest even if there are no module calls.
	Always bool
	// Observe receives events, one call at a time. It may be nil.
	Observe func(Event)
	// Warn receives the warnings of Resolve.
	Warn tfdiags.Sink
}

// Installer installs module calls one by one, in the order in which the configuration loader finds
// them.
type Installer struct {
	opts     Options
	manifest Manifest
	called   bool              // whether the configuration has a module call
	packages map[string]string // directories of packages, by manifest key of the call
	fetcher  *fetcher
	locator  *locator
	pins     *pins // nil if packages are not pinned
}

// NewInstaller returns an installer. It reads the manifest of the modules that are already
// installed.
func NewInstaller(opts *Options) (*Installer, error) {
	if err := checkDir(opts.Dir); err != nil {
		return nil, tfdiags.Errorf("Modules can't be installed",
			"%s. Installing modules deletes and replaces files there. Remove the link; to keep modules in "+
				"another place, set TF_DATA_DIR.", err)
	}
	manifest, err := readManifest(opts.Dir, opts.Base)
	if err != nil {
		return nil, tfdiags.Join(manifestDamaged(err), tfdiags.Errorf("Modules can't be installed",
			"Without the list of installed modules the files in %s can't be identified, so they were not changed.",
			opts.Dir))
	}
	in := &Installer{opts: *opts, manifest: manifest, packages: make(map[string]string),
		fetcher: newFetcher(opts.Client),
		locator: &locator{client: opts.Client}}
	in.fetcher.store.fresh, in.fetcher.store.offline = opts.Upgrade, opts.Offline
	if opts.Observe != nil {
		in.fetcher.progress = func(p Progress) { opts.Observe(p) }
	}
	if opts.Pin {
		in.pins = newPins(opts.Pins)
		if opts.Upgrade {
			in.pins = newPins(nil) // an upgrade accepts any package, whatever is pinned
		}
	}
	return in, nil
}

// checkDir returns an error if modules must not be installed in dir. No symbolic link below the
// data directory may lead out of it. If the data directory is behind a link, there may already be a
// directory "modules" with other files. Therefore dir must then be empty or contain a list of
// installed modules.
func checkDir(dir string) error {
	data := filepath.Dir(dir)
	if err := atomicfile.CheckBelow(data, dir); err != nil {
		return err
	}
	if !atomicfile.ThroughLink(data) {
		return nil
	}
	_, err := os.Stat(ManifestFile(dir))
	if entries, _ := os.ReadDir(dir); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s is behind a symbolic link, and the directory \"modules\" there contains files "+
			"other than installed modules", data)
	}
	return nil
}

// Finish writes modules.json, unless there are no calls and Options.Always is false. Call it when
// all calls have been resolved, even if the configuration has errors or some modules could not be
// installed. Later commands then report errors only for those modules.
func (in *Installer) Finish() error {
	if !in.called && !in.opts.Always {
		return nil
	}
	return in.write()
}

func (in *Installer) write() error {
	in.manifest[""] = Record{Dir: cmp.Or(in.opts.Base, ".")}
	return in.manifest.Write(in.opts.Dir, in.opts.Base)
}

// Resolve installs a module. It is a configs.Resolver.
func (in *Installer) Resolve(ctx context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
	in.called = true
	switch req.Source.Kind {
	case addrs.LocalModule:
		return in.local(ctx, req)
	case addrs.RegistryModule:
		return in.fromRegistry(ctx, req)
	case addrs.RemoteModule:
		return in.remote(ctx, req)
	}
	// The source couldn't be evaluated, and the errors have been reported already.
	return configs.ResolvedModule{}, nil
}

func (in *Installer) notify(e Event) {
	if in.opts.Observe != nil {
		in.opts.Observe(e)
	}
}

// local resolves a module in the caller's package.
func (in *Installer) local(ctx context.Context, req *configs.ModuleRequest) (none configs.ResolvedModule, err error) {
	dir := filepath.ToSlash(filepath.Clean(req.LocalDir()))
	parent, _ := req.Path.Parent()
	home, packaged := in.packages[strings.Join(parent.Names(), ".")]
	if packaged && dir != home && !strings.HasPrefix(dir, home+"/") {
		return none, tfdiags.Errorf("Local module path escapes module package",
			"The source of %s, %q, would be outside of the package that the calling module came with. Local "+
				"sources that start with \"../\" must stay within it.",
			req.Path, req.Source).At(req.Call.SourceRange)
	}
	if _, err := localDir(req); err != nil {
		return none, err
	}
	k := key(req)
	old := in.manifest[k]
	moved := old.Source != req.Source.String() || old.Dir != dir
	if moved {
		in.manifest.forget(k)
		if err := os.RemoveAll(in.installDir(k)); err != nil {
			return none, in.failed(ctx, req, err)
		}
	}
	if moved || in.opts.Upgrade {
		in.notify(InPlace{k, "", dir})
	}
	if packaged {
		in.packages[k] = home
	}
	in.manifest[k] = Record{Key: k, Source: req.Source.String(), Dir: dir}
	return configs.ResolvedModule{Dir: filepath.FromSlash(dir)}, nil
}

// installDir returns the directory in which the package of a call is installed.
func (in *Installer) installDir(k string) string { return filepath.Join(in.opts.Dir, k) }

// kept returns the manifest's record of a call if the call need not be installed again.
func (in *Installer) kept(req *configs.ModuleRequest) (Record, bool) {
	r, ok := in.manifest[key(req)]
	if !ok || in.opts.Upgrade || r.Source != req.Source.String() || !r.meets(req.Constraints) {
		return Record{}, false
	}
	home := filepath.ToSlash(in.installDir(r.Key))
	if r.Dir != home && !strings.HasPrefix(r.Dir, home+"/") {
		return Record{}, false // the directory is wrong, because someone has edited the manifest
	}
	if info, err := os.Stat(filepath.FromSlash(r.Dir)); err != nil || !info.IsDir() {
		return Record{}, false
	}
	pin := in.pins.pinFor(req.Source.Address, r.Version)
	if !in.pins.matches(pin, filepath.FromSlash(home)) {
		if pin.Hash != "" {
			in.notify(Changed{r.Key, r.Dir})
		}
		return Record{}, false
	}
	in.pins.use(pin, filepath.FromSlash(home))
	in.packages[r.Key] = home
	return r, true
}

func (in *Installer) remote(ctx context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
	if r, ok := in.kept(req); ok {
		return configs.ResolvedModule{Dir: filepath.FromSlash(r.Dir)}, nil
	}
	place := location{address: req.Source.Address, subdir: req.Source.Subdir}
	if err := in.reachable(req); err != nil {
		place.found = in.fetcher.store.find(request{place, in.pins.pinFor(place.address, "")})
		if place.found == nil {
			return configs.ResolvedModule{}, err
		}
	}
	return in.install(ctx, req, place, "")
}

// reachable returns an error if the package of a call must come from the network and Offline is set.
func (in *Installer) reachable(req *configs.ModuleRequest) error {
	_, address := splitMethod(req.Source.Address)
	if !in.opts.Offline || req.Source.Kind == addrs.RemoteModule &&
		(isPath(address) || strings.HasPrefix(address, "file://")) {
		return nil
	}
	version := ""
	if req.Version != "" {
		version = fmt.Sprintf(" (%s)", req.Version)
	}
	return tfdiags.Errorf("Module is not installed", "The package of %s, %s%s, is not installed and not stored on this machine, and "+
		"-offline excludes the network. Run the command without -offline, or copy the directory %s from a machine where "+
		"it is installed.",
		req.Describe(), showable(req.Source.Address), version, in.opts.Dir).At(req.Call.Range)
}

// install fetches the package of a call and records the call in the manifest.
func (in *Installer) install(
	ctx context.Context, req *configs.ModuleRequest, place location, version string,
) (none configs.ResolvedModule, err error) {
	k := key(req)
	shown := showable(req.Source.Address)
	in.notify(Downloading{k, shown, version})
	home := in.installDir(k)
	pin := in.pins.pinFor(req.Source.Address, version)
	got, err := in.fetcher.into(ctx, request{place, pin}, home)
	if err != nil {
		return none, in.failed(ctx, req, err)
	}
	if pin != nil {
		in.pins.use(&depsfile.ModuleLock{Source: pin.Source, Version: version, Revision: got.revision,
			Hash: got.hash}, home)
	}
	dir := home
	if subdir := path.Join(got.subdir, place.subdir); subdir != "" {
		found, err := within(home, subdir)
		if err != nil {
			return none, tfdiags.Errorf("Failed to install module",
				"The package of %s, %s, was downloaded, but %s. The part of the source after \"//\" must be a "+
					"directory of the package.", req.Describe(), shown, err).At(req.Call.SourceRange)
		}
		dir = found
	}
	in.manifest.forget(k)
	dir = filepath.ToSlash(dir)
	in.packages[k] = filepath.ToSlash(home)
	in.manifest[k] = Record{Key: k, Source: req.Source.String(), Version: version, Dir: dir}
	in.notify(InPlace{k, version, dir})
	return configs.ResolvedModule{Dir: filepath.FromSlash(dir), Version: version}, nil
}

func (in *Installer) failed(ctx context.Context, req *configs.ModuleRequest, err error) error {
	if ctx.Err() != nil {
		return tfdiags.Errorf("Module installation was interrupted",
			"The installation of modules was interrupted before it was complete.")
	}
	if _, ok := errors.AsType[*repeatedError](err); ok {
		if _, ok := errors.AsType[*changedError](err); ok {
			return nil // the error was reported with the call that fetched the package first
		}
		err = errors.New("its package could not be fetched for another call")
	}
	return tfdiags.Errorf("Failed to download module", "Could not download %s: %s.", req.Describe(),
		err).At(req.Call.Range)
}

// within returns a subdirectory of the package in home. If subdir is a pattern, it must match
// exactly one directory. Symbolic links must not lead out of the package.
func within(home, subdir string) (string, error) {
	dir := filepath.Join(home, filepath.FromSlash(subdir))
	if strings.ContainsAny(subdir, "*?[") {
		matches, err := filepath.Glob(dir)
		if err != nil || len(matches) != 1 {
			return "", fmt.Errorf("the pattern %q must match one directory, but matches %d", subdir, len(matches))
		}
		dir = matches[0]
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return "", fmt.Errorf("there is no directory %q", subdir)
	}
	realHome, err := filepath.EvalSymlinks(home)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(realHome, real); err != nil || rel == ".." ||
		strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("%q is outside of the package", subdir)
	}
	return dir, nil
}

// fromRegistry selects a version of a module and installs the package whose location the registry
// returns.
func (in *Installer) fromRegistry(
	ctx context.Context, req *configs.ModuleRequest,
) (none configs.ResolvedModule, err error) {
	if r, ok := in.kept(req); ok {
		return configs.ResolvedModule{Dir: filepath.FromSlash(r.Dir), Version: r.Version}, nil
	}
	version, err := in.choose(ctx, req)
	if version == "" {
		return none, err
	}
	place, stored := in.fetcher.store.release(req.Source, version, in.pins.pinFor(req.Source.Address, version))
	if !stored {
		if err := in.reachable(req); err != nil {
			return none, err
		}
		place, err = in.locator.locate(ctx, req.Source, version)
	}
	if err != nil {
		return none, tfdiags.Errorf("Failed to download module",
			"Could not determine the location of version %s of %s: %s.", version, req.Describe(), err).
			At(req.Call.Range)
	}
	return in.install(ctx, req, place, version)
}

func (in *Installer) choose(ctx context.Context, req *configs.ModuleRequest) (string, error) {
	if v, ok := in.pins.version(req.Source.Address, req.Constraints); ok {
		return v.String(), nil
	}
	if in.opts.Offline {
		list := in.fetcher.store.versions(req.Source.Address)
		if v, ok := sources.Newest(list, depsfile.Acceptable(req.Constraints).Has); ok {
			return v.String(), nil
		}
		return "", in.reachable(req)
	}
	found, err := in.locator.choose(ctx, req.Source, req.Constraints)
	for _, y := range found.young {
		in.notify(PassedOver{req.Source.Address, y})
	}
	for _, text := range found.odd {
		in.opts.Warn(tfdiags.Warningf("Failed to parse version",
			"The registry lists %q as a version of %s. It is not of the form 1.2.3 and is ignored.",
			text, req.Source.Address).At(req.Call.Range))
	}
	switch {
	case errors.Is(err, errUnresolvable) && req.Version == "":
		return "", tfdiags.Errorf("Module without a usable version",
			"The registry lists no release of module %s. A prerelease is used only if the argument version selects "+
				"exactly that version.", req.Source.Address).At(req.Call.Range)
	case errors.Is(err, errUnresolvable):
		return "", tfdiags.Errorf("Unresolvable module version constraint",
			"No version of module %s meets the constraints %q.", req.Source.Address, req.Version).At(req.Call.Range)
	case err != nil:
		return "", in.failed(ctx, req, err)
	}
	return found.version, nil
}
