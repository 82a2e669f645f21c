package install

import (
	"fmt"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/memo"
)

// Packages returns the programs of installed providers. Each is verified against the lock file on
// first use. It is safe for concurrent use.
type Packages struct {
	Dir   string // the directory of installed packages: .terraform/providers
	Locks *depsfile.Locks
	Store *pkgstore.Store
	// Overrides are directories with development builds, which are used unverified.
	Overrides map[addrs.Provider]string
	// InitCommand is the command that installs providers, for advice.
	InitCommand string

	known memo.Map[addrs.Provider, Program]
}

// Program is the program of a provider in a verified package.
type Program struct {
	Path string
	// Hash is the content hash of the package, which identifies the behavior of the program. It is
	// empty for development builds.
	Hash    depsfile.Hash
	Version depsfile.Version
}

// Program returns the program of a provider.
func (ps *Packages) Program(p addrs.Provider) (Program, error) {
	return ps.known.Do(p, func() (Program, error) { return ps.find(p) })
}

func (ps *Packages) find(p addrs.Provider) (Program, error) {
	if dir, ok := ps.Overrides[p]; ok {
		path, err := pkgstore.Executable(dir, p)
		if err != nil {
			return Program{}, fmt.Errorf("development override of provider %s: %w", p, err)
		}
		return Program{Path: path}, nil
	}
	lock, ok := ps.Locks.Provider(p)
	if !ok {
		return Program{}, fmt.Errorf("the dependency lock file has no entry for provider %s; run %q", p, ps.InitCommand)
	}
	dir := pkgstore.PackageDir(ps.Dir, p, lock.Version, depsfile.CurrentPlatform())
	path, err := pkgstore.Executable(dir, p)
	if err != nil {
		return Program{}, fmt.Errorf("provider %s %s isn't installed (%w); run %q", p, lock.Version, err,
			ps.InitCommand)
	}
	h, err := ps.Store.ContentHash(dir)
	if err != nil {
		return Program{}, fmt.Errorf("verifying the package of provider %s: %w", p, err)
	}
	if known := depsfile.Known(lock.Hashes); len(known) > 0 && !slices.Contains(known, h) {
		return Program{},
			fmt.Errorf("the package of provider %s %s in %s matches none of the checksums in the lock file; "+
				"run %q to install it again", p, lock.Version, ps.Dir, ps.InitCommand)
	}
	return Program{Path: path, Hash: h, Version: lock.Version}, nil
}
