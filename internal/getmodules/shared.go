package getmodules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/memo"
	"tofu/internal/registry"
	"tofu/internal/tfdiags"
)

// Shared finds the modules of many root modules without changing the root modules' directories. It
// uses the modules that a root module has installed, and fetches all other packages into a temporary
// directory, each of them once. It is safe for concurrent use.
type Shared struct {
	client   *registry.Client
	progress func(Progress)
	locator  *locator
	store    *packageStore
	packages memo.Map[string, sharedPackage]

	mu  sync.Mutex
	dir string // the temporary directory; created when the first package is fetched
}

type sharedPackage struct{ dir, subdir string }

// NewShared returns a Shared. progress receives the progress of downloads and is called
// concurrently. It may be nil.
func NewShared(client *registry.Client, progress func(Progress)) *Shared {
	return &Shared{client: client, progress: progress, locator: &locator{client: client},
		store: openStore(client.Config().CacheDir)}
}

// Close removes the fetched packages. A Shared must not be used afterwards.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// Resolver returns a resolver for the module calls of the root module in the directory root.
func (s *Shared) Resolver(root string) (configs.Resolver, error) {
	installed, err := readManifest(filepath.Join(root, ".terraform", "modules"), root)
	if err != nil {
		return nil, manifestDamaged(err)
	}
	locks, pinned, err := depsfile.LoadModules(filepath.Join(root, depsfile.ModulesFileName))
	if err != nil {
		return nil, err
	}
	var rootPins *pins
	if pinned {
		rootPins = newPins(locks)
	}
	return func(ctx context.Context, req *configs.ModuleRequest) (found configs.ResolvedModule, err error) {
		if req.Source.Kind == 0 {
			return found, nil // errors have been reported already
		}
		if req.Source.Kind == addrs.LocalModule {
			return configs.ResolvedModule{Dir: filepath.Clean(req.LocalDir())}, nil
		}
		if r, ok := installed[key(req)]; ok && r.Source == req.Source.String() && r.meets(req.Constraints) {
			dir := filepath.FromSlash(r.Dir)
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				return configs.ResolvedModule{Dir: dir, Version: r.Version}, nil
			}
		}
		dir, version, err := s.find(ctx, rootPins, req)
		if err != nil {
			return found, unavailable(req, err)
		}
		return configs.ResolvedModule{Dir: dir, Version: version}, nil
	}, nil
}

// unavailable returns the error for a call whose module can't be found. If fetching the package has
// failed, the error has the same text for every call that uses the package, so that duplicates can
// be removed.
func unavailable(req *configs.ModuleRequest, err error) error {
	const summary = "Failed to download module"
	if missing, ok := errors.AsType[*packageError](err); ok {
		return tfdiags.Errorf(summary, "The package %s can't be fetched: %s.", missing.source, missing.err)
	}
	return tfdiags.Errorf(summary, "Could not get %s: %s.", req.Describe(), err).At(req.Call.Range)
}

// packageError reports that a package can't be fetched. Its text is the same for all calls that use
// the package.
type packageError struct {
	source string
	err    error
}

func (e *packageError) Error() string { return "fetching " + e.source + ": " + e.err.Error() }
func (e *packageError) Unwrap() error { return e.err }

// find returns the package of a call and its version. It fetches the version that init would
// select.
func (s *Shared) find(ctx context.Context, pins *pins, req *configs.ModuleRequest) (dir, version string, err error) {
	registered := req.Source.Kind == addrs.RegistryModule
	if registered {
		version, err = s.choose(ctx, pins, req)
		if err != nil {
			return "", "", err
		}
	}
	pin := pins.pinFor(req.Source.Address, version)
	place := location{address: req.Source.Address, subdir: req.Source.Subdir}
	if registered {
		var stored bool
		if place, stored = s.store.release(req.Source, version, pin); !stored {
			place, err = s.locator.locate(ctx, req.Source, version)
		}
		if err != nil {
			return "", "", err
		}
	}
	name := place.key()
	if pin != nil {
		name += " " + pin.Revision + " " + string(pin.Hash)
	}
	pkg, err := s.packages.Do(name,
		func() (sharedPackage, error) { return s.fetch(ctx, request{place, pin}) })
	if err != nil {
		return "", "", &packageError{showable(req.Source.Address), err}
	}
	subdir := path.Join(pkg.subdir, place.subdir)
	if subdir == "" {
		return pkg.dir, version, nil
	}
	dir, err = within(pkg.dir, subdir)
	return dir, version, err
}

func (s *Shared) choose(ctx context.Context, pins *pins, req *configs.ModuleRequest) (string, error) {
	if v, ok := pins.version(req.Source.Address, req.Constraints); ok {
		return v.String(), nil
	}
	found, err := s.locator.choose(ctx, req.Source, req.Constraints)
	switch {
	case errors.Is(err, errUnresolvable) && req.Version == "":
		err = fmt.Errorf("the registry lists no release of module %s", req.Source.Address)
	case errors.Is(err, errUnresolvable):
		err = fmt.Errorf("no version of module %s meets the constraints %q: %s", req.Source.Address, req.Version,
			depsfile.ThereAre(found.list))
	}
	return found.version, err
}

// fetch fetches a package into a new directory.
func (s *Shared) fetch(ctx context.Context, req request) (sharedPackage, error) {
	home, err := s.home()
	if err != nil {
		return sharedPackage{}, err
	}
	tmp, err := os.MkdirTemp(home, "package-")
	if err != nil {
		return sharedPackage{}, err
	}
	dir := filepath.Join(tmp, "module")
	f := newFetcher(s.client)
	f.progress = s.progress
	got, err := f.into(ctx, req, dir)
	return sharedPackage{dir, got.subdir}, err
}

// home returns the temporary directory, creating it first if necessary.
func (s *Shared) home() (dir string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		s.dir, err = os.MkdirTemp("", "tofu-modules-")
	}
	return s.dir, err
}
