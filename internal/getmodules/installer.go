package getmodules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/tfdiags"
)

// Options say how modules are installed.
type Options struct {
	// Dir is where modules are installed, ".terraform/modules".
	Dir    string
	Client *registry.Client
	// Upgrade fetches everything again and takes the newest versions.
	Upgrade bool
	// Pin compares packages that are not local with those that Pins demands, and gives what they are; see Installer.Pins.
	Pin  bool
	Pins depsfile.ModuleLocks
	// Observe is told what happens; nil for nobody.
	Observe func(Event)
}

// Event tells that a module call is being installed.
type Event struct {
	Key     string // the call's path, "net.subnets"
	Source  string // of a package that is about to be fetched; empty when the call is in place
	Version string
	Dir     string // of a call that is in place
}

// Installer installs module calls one by one, as the configuration's loader meets them.
type Installer struct {
	opts     Options
	ctx      context.Context
	manifest Manifest
	called   bool              // there is any call
	broken   bool              // a call could not be installed
	packages map[string]string // where the package of a call lies, by key
	fetcher  *fetcher
	pins     *pins // nil when packages are not pinned
	versions map[string]func() (registry.ModuleVersions, error)
	places   map[string]func() (registry.ModuleLocation, error)
}

// NewInstaller reads what is installed already. The context bounds all that the installer does.
func NewInstaller(ctx context.Context, opts *Options) (*Installer, tfdiags.Diagnostics) {
	manifest, err := ReadManifest(opts.Dir)
	if err != nil {
		return nil, tfdiags.Diagnostics{manifestDamaged(err),
			tfdiags.Errorf("Modules can't be installed", "Without the list of installed modules nothing is known about the files in %s, so they were left alone.", opts.Dir)}
	}
	in := &Installer{opts: *opts, ctx: ctx, manifest: manifest, packages: make(map[string]string), fetcher: newFetcher(opts.Client),
		versions: make(map[string]func() (registry.ModuleVersions, error)),
		places:   make(map[string]func() (registry.ModuleLocation, error))}
	if opts.Pin {
		in.pins = &pins{known: opts.Pins, used: make(map[pinKey]depsfile.ModuleLock), intact: make(map[string]bool)}
	}
	return in, nil
}

// Finish writes modules.json. It is called when every call was met, also when something is wrong with the configuration. When a
// call could not be installed the file stays as it was.
func (in *Installer) Finish() error {
	if !in.called || in.broken {
		return nil
	}
	return in.write()
}

func (in *Installer) write() error {
	in.manifest[""] = Record{Dir: "."}
	return in.manifest.Write(in.opts.Dir)
}

// Resolve is the configs.Resolver that installs.
func (in *Installer) Resolve(req *configs.ModuleRequest) (string, string, tfdiags.Diagnostics) {
	in.called = true
	dir, version, diags := in.resolve(req)
	in.broken = in.broken || diags.HasErrors()
	return dir, version, diags
}

func (in *Installer) resolve(req *configs.ModuleRequest) (string, string, tfdiags.Diagnostics) {
	switch req.Source.Kind {
	case addrs.LocalModule:
		return in.local(req)
	case addrs.RegistryModule:
		return in.fromRegistry(req)
	case addrs.RemoteModule:
		return in.remote(req)
	}
	return "", "", nil // the source couldn't be evaluated; diagnostics have been given
}

func (in *Installer) tell(e Event) {
	if in.opts.Observe != nil {
		in.opts.Observe(e)
	}
}

// local takes a module where it lies: beside the caller, in the same package.
func (in *Installer) local(req *configs.ModuleRequest) (string, string, tfdiags.Diagnostics) {
	dir := filepath.ToSlash(filepath.Clean(req.LocalDir()))
	parent, _ := req.Path.Parent()
	home, packaged := in.packages[strings.Join(parent.Names(), ".")]
	if packaged && dir != home && !strings.HasPrefix(dir, home+"/") {
		return "", "", tfdiags.Diagnostics{tfdiags.Errorf("Local module path escapes module package",
			"The source of %s, %q, would be outside of the package that the calling module came with. Local sources that start with \"../\" must stay within it.",
			req.Path, req.Source)}
	}
	if info, err := os.Stat(filepath.FromSlash(dir)); err != nil || !info.IsDir() {
		return "", "", tfdiags.Diagnostics{tfdiags.Errorf("Unreadable module directory", "The directory %s could not be read for %s.", dir, req.Describe())}
	}
	k := key(req)
	if old := in.manifest[k]; old.Source != req.Source.String() || old.Dir != dir {
		in.manifest.forget(k)
		if err := os.RemoveAll(in.installDir(k)); err != nil {
			return "", "", in.failed(req, err)
		}
		in.tell(Event{Key: k, Dir: dir})
	}
	if packaged {
		in.packages[k] = home
	}
	in.manifest[k] = Record{Key: k, Source: req.Source.String(), Dir: dir}
	return filepath.FromSlash(dir), "", nil
}

// installDir is where the package of a call is installed.
func (in *Installer) installDir(k string) string { return filepath.Join(in.opts.Dir, k) }

// kept gives an installed call that needn't be installed again.
func (in *Installer) kept(req *configs.ModuleRequest) (Record, bool) {
	r, ok := in.manifest[key(req)]
	if !ok || in.opts.Upgrade || r.Source != req.Source.String() || !r.meets(req.Constraints) {
		return Record{}, false
	}
	home := filepath.ToSlash(in.installDir(r.Key))
	if r.Dir != home && !strings.HasPrefix(r.Dir, home+"/") {
		return Record{}, false // somebody edited the manifest
	}
	if info, err := os.Stat(filepath.FromSlash(r.Dir)); err != nil || !info.IsDir() {
		return Record{}, false
	}
	pin := in.pinned(req.Source.Address, r.Version)
	if !in.holds(pin, filepath.FromSlash(home)) {
		return Record{}, false
	}
	in.use(pin, filepath.FromSlash(home))
	in.packages[r.Key] = home
	return r, true
}

func (in *Installer) remote(req *configs.ModuleRequest) (string, string, tfdiags.Diagnostics) {
	if r, ok := in.kept(req); ok {
		return filepath.FromSlash(r.Dir), "", nil
	}
	return in.install(req, req.Source.Address, req.Source.Subdir, "", "", req.Source.Address)
}

// install fetches a package and records the call. Host is whose credentials go with the request.
func (in *Installer) install(req *configs.ModuleRequest, address, subdir, host, version, shown string) (string, string, tfdiags.Diagnostics) {
	k := key(req)
	in.manifest.forget(k)
	in.tell(Event{Key: k, Source: shown, Version: version})
	home := in.installDir(k)
	pin := in.pinned(req.Source.Address, version)
	got, err := in.fetcher.into(in.ctx, request{address, host, pin}, home)
	if err != nil {
		return "", "", in.failed(req, err)
	}
	if pin != nil {
		in.use(&depsfile.ModuleLock{Source: pin.Source, Version: version, Revision: got.revision, Hash: got.hash}, home)
	}
	dir := home
	if got.subdir != "" {
		subdir = path.Join(got.subdir, subdir)
	}
	if subdir != "" {
		found, err := within(home, subdir)
		if err != nil {
			return "", "", tfdiags.Diagnostics{tfdiags.Errorf("Failed to install module", "The package of %s, %s, has no such folder: %s.", req.Describe(), shown, err)}
		}
		dir = found
	}
	dir = filepath.ToSlash(dir)
	in.packages[k] = filepath.ToSlash(home)
	in.manifest[k] = Record{Key: k, Source: req.Source.String(), Version: version, Dir: dir}
	in.tell(Event{Key: k, Dir: dir, Version: version})
	return filepath.FromSlash(dir), version, nil
}

func (in *Installer) failed(req *configs.ModuleRequest, err error) tfdiags.Diagnostics {
	if in.ctx.Err() != nil {
		return tfdiags.Diagnostics{tfdiags.Errorf("Module installation was interrupted", "The installation of modules was stopped before it was complete.")}
	}
	return tfdiags.Diagnostics{tfdiags.Errorf("Failed to download module", "Could not install %s: %s.", req.Describe(), err).At(req.Call.Range)}
}

// within finds a folder of a package; a pattern must match exactly one. Symbolic links may not lead out of it.
func within(home, subdir string) (string, error) {
	dir := filepath.Join(home, filepath.FromSlash(subdir))
	if strings.ContainsAny(subdir, "*?[") {
		matches, err := filepath.Glob(dir)
		if err != nil || len(matches) != 1 {
			return "", fmt.Errorf("%d folders match the pattern %q", len(matches), subdir)
		}
		dir = matches[0]
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return "", fmt.Errorf("%q is not there or is no folder", subdir)
	}
	realHome, err := filepath.EvalSymlinks(home)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(realHome, real); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("%q leads out of the package", subdir)
	}
	return dir, nil
}

// fromRegistry chooses a version and installs the package that the registry names for it.
func (in *Installer) fromRegistry(req *configs.ModuleRequest) (string, string, tfdiags.Diagnostics) {
	if r, ok := in.kept(req); ok {
		return filepath.FromSlash(r.Dir), r.Version, nil
	}
	host, module, _ := strings.Cut(req.Source.Address, "/")
	if !strings.Contains(host, ".") {
		return "", "", in.failed(req, fmt.Errorf("%q is no module registry: a host name has a dot", host))
	}
	version, diags := in.choose(req, host, module)
	if diags.HasErrors() {
		return "", "", diags
	}
	place, err := once(in.places, req.Source.Address+" "+version, func() (registry.ModuleLocation, error) {
		return in.opts.Client.ModuleLocation(in.ctx, host, module, version)
	})
	var source addrs.ModuleSource
	if err == nil {
		source, err = addrs.ParseModuleSource(place.Address, false)
	}
	if err == nil && source.Kind != addrs.RemoteModule {
		err = fmt.Errorf("the registry gives the location %q, which is no address of a package", place.Address)
	}
	if err != nil {
		return "", "", append(diags, tfdiags.Errorf("Failed to download module", "Could not find out where version %s of %s is: %s.", version, req.Describe(), err))
	}
	dir, version, more := in.install(req, source.Address, path.Join(source.Subdir, req.Source.Subdir), place.Host, version, req.Source.Address)
	return dir, version, append(diags, more...)
}

func (in *Installer) choose(req *configs.ModuleRequest, host, module string) (string, tfdiags.Diagnostics) {
	if v, ok := in.pinnedVersion(req.Source.Address, req.Constraints); ok {
		return v.String(), nil
	}
	list, err := once(in.versions, req.Source.Address, func() (registry.ModuleVersions, error) {
		return in.opts.Client.ModuleVersions(in.ctx, host, module)
	})
	if err != nil {
		if errors.Is(err, registry.ErrNoModule) {
			err = fmt.Errorf("there is no module %s in the registry at %s", module, host)
		}
		return "", in.failed(req, err)
	}
	var diags tfdiags.Diagnostics
	for _, odd := range list.Odd {
		diags = diags.Append(tfdiags.Warningf("Failed to parse version", "The registry at %s lists a version %q of %s, which is none; it is ignored.", host, odd, module).At(req.Call.Range))
	}
	version, ok := sources.Newest(list.List, depsfile.Acceptable(req.Constraints).Has)
	if !ok {
		return "", diags.Append(tfdiags.Errorf("Unresolvable module version constraint",
			"No version of module %s at %s meets the constraints %q.", module, host, req.Version).At(req.Call.Range))
	}
	return version.String(), diags
}

// once runs a function once per key and keeps the result.
func once[V any](calls map[string]func() (V, error), key string, run func() (V, error)) (V, error) {
	if _, ok := calls[key]; !ok {
		v, err := run()
		calls[key] = func() (V, error) { return v, err }
	}
	return calls[key]()
}
