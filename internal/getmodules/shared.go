package getmodules

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/tfdiags"
)

// Shared finds the modules of many root modules for reading only. What a root module has installed is used; all other packages are
// fetched into a temporary folder, each once, whoever calls it. It may be used by many goroutines.
type Shared struct {
	ctx    context.Context
	client *registry.Client

	mu       sync.Mutex
	dir      string // made when the first package is fetched
	packages map[string]func() (sharedPackage, error)
	versions map[string]func() (registry.ModuleVersions, error)
	places   map[string]func() (registry.ModuleLocation, error)
}

type sharedPackage struct{ dir, subdir string }

// NewShared makes a Shared. The context bounds all that it does.
func NewShared(ctx context.Context, client *registry.Client) *Shared {
	return &Shared{ctx: ctx, client: client, packages: make(map[string]func() (sharedPackage, error)),
		versions: make(map[string]func() (registry.ModuleVersions, error)), places: make(map[string]func() (registry.ModuleLocation, error))}
}

// Close removes what was fetched.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// Resolver resolves the calls of the root module in a folder.
func (s *Shared) Resolver(root string) (configs.Resolver, tfdiags.Diagnostics) {
	installed, err := ReadManifest(filepath.Join(root, ".terraform", "modules"))
	if err != nil {
		return nil, tfdiags.Diagnostics{manifestDamaged(err)}
	}
	locks, pinned, diags := depsfile.LoadModules(filepath.Join(root, depsfile.ModulesFileName))
	if diags.HasErrors() {
		return nil, diags
	}
	in := &Installer{opts: Options{Dir: filepath.Join(root, ".terraform", "modules")}, manifest: installed}
	if pinned {
		in.pins = &pins{known: locks}
	}
	return func(req *configs.ModuleRequest) (string, string, tfdiags.Diagnostics) {
		if req.Source.Kind == 0 {
			return "", "", nil // diagnostics have been given
		}
		if req.Source.Kind == addrs.LocalModule {
			return filepath.Clean(req.LocalDir()), "", nil
		}
		if r, ok := installed[key(req)]; ok && r.Source == req.Source.String() && r.meets(req.Constraints) {
			dir := filepath.Join(root, filepath.FromSlash(r.Dir)) // the manifest is relative to the root module
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				return dir, r.Version, nil
			}
		}
		dir, version, err := s.find(in, req)
		if err != nil {
			return "", "", tfdiags.Diagnostics{tfdiags.Errorf("Failed to download module", "Could not get %s: %s.", req.Describe(), err).At(req.Call.Range)}
		}
		return dir, version, nil
	}, nil
}

// find fetches the package of a call, in the version that init would choose. The installer knows what is pinned.
func (s *Shared) find(in *Installer, req *configs.ModuleRequest) (dir, version string, err error) {
	address, subdir, host := req.Source.Address, req.Source.Subdir, ""
	if req.Source.Kind == addrs.RegistryModule {
		if version, err = s.choose(in, req); err != nil {
			return "", "", err
		}
		registryHost, module, _ := strings.Cut(address, "/")
		place, err := locked(s, s.places, address+" "+version, func() (registry.ModuleLocation, error) {
			return s.client.ModuleLocation(s.ctx, registryHost, module, version)
		})
		if err != nil {
			return "", "", err
		}
		located, err := addrs.ParseModuleSource(place.Address, false)
		if err != nil || located.Kind != addrs.RemoteModule {
			return "", "", fmt.Errorf("the registry gives the location %q, which is no address of a package", place.Address)
		}
		address, subdir, host = located.Address, path.Join(located.Subdir, subdir), place.Host
	}
	pin := in.pinned(req.Source.Address, version)
	name := address
	if pin != nil {
		name += " " + pin.Revision + " " + string(pin.Hash)
	}
	pkg, err := locked(s, s.packages, name, func() (sharedPackage, error) { return s.fetch(request{address, host, pin}) })
	if err != nil {
		return "", "", err
	}
	if subdir = path.Join(pkg.subdir, subdir); subdir == "" {
		return pkg.dir, version, nil
	}
	dir, err = within(pkg.dir, subdir)
	return dir, version, err
}

func (s *Shared) choose(in *Installer, req *configs.ModuleRequest) (string, error) {
	if v, ok := in.pinnedVersion(req.Source.Address, req.Constraints); ok {
		return v.String(), nil
	}
	host, module, _ := strings.Cut(req.Source.Address, "/")
	list, err := locked(s, s.versions, req.Source.Address, func() (registry.ModuleVersions, error) { return s.client.ModuleVersions(s.ctx, host, module) })
	if err != nil {
		return "", err
	}
	v, ok := sources.Newest(list.List, depsfile.Acceptable(req.Constraints).Has)
	if !ok {
		return "", fmt.Errorf("no version of module %s at %s meets the constraints %q", module, host, req.Version)
	}
	return v.String(), nil
}

// fetch puts a package into a folder of its own.
func (s *Shared) fetch(req request) (sharedPackage, error) {
	home, err := s.home()
	if err != nil {
		return sharedPackage{}, err
	}
	tmp, err := os.MkdirTemp(home, "package-")
	if err != nil {
		return sharedPackage{}, err
	}
	dir := filepath.Join(tmp, "module")
	got, err := newFetcher(s.client).into(s.ctx, req, dir)
	return sharedPackage{dir, got.subdir}, err
}

// home makes the temporary folder.
func (s *Shared) home() (dir string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		s.dir, err = os.MkdirTemp("", "tofu-modules-")
	}
	return s.dir, err
}

// locked runs a function once per key, and lets other keys go on meanwhile.
func locked[V any](s *Shared, calls map[string]func() (V, error), key string, run func() (V, error)) (V, error) {
	s.mu.Lock()
	call, ok := calls[key]
	if !ok {
		call = sync.OnceValues(run)
		calls[key] = call
	}
	s.mu.Unlock()
	return call()
}
