package sources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
)

// Filesystem is a directory of packages. They may be packed
// (HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_PLATFORM.zip) or unpacked
// (HOST/NAMESPACE/TYPE/VERSION/PLATFORM/). Other files are ignored.
type Filesystem struct{ Dir string }

// String returns a description with the path of the directory.
func (f Filesystem) String() string { return "the local directory " + f.Dir }

type localPackage struct {
	version  depsfile.Version
	platform depsfile.Platform
	dir      string
	archive  string
}

// Versions returns the versions for which there is at least one package.
func (f Filesystem) Versions(ctx context.Context, p addrs.Provider) (Versions, error) {
	packages, err := f.packages(p)
	if err != nil {
		return Versions{}, err
	}
	seen := make(map[depsfile.Version]bool)
	var found Versions
	for _, pkg := range packages {
		if !seen[pkg.version] {
			seen[pkg.version] = true
			found.List = append(found.List, pkg.version)
		}
	}
	if len(found.List) == 0 {
		return Versions{}, &NoProviderError{Provider: p, Sources: []string{f.String()}}
	}
	return found, nil
}

// Package returns a package. An unpacked package takes precedence over an archive.
func (f Filesystem) Package(
	ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform,
) (*Package, error) {
	packages, err := f.packages(p)
	if err != nil {
		return nil, err
	}
	var found *Package
	for _, pkg := range packages {
		if pkg.version == v && pkg.platform == platform && (found == nil || pkg.dir != "") {
			found = &Package{Provider: p, Version: v, Platform: platform, Dir: pkg.dir, Archive: pkg.archive,
				Name: ArchiveName(p, v, platform), Auth: "unauthenticated"}
		}
	}
	if found == nil {
		return nil, &NoPackageError{p, v, platform}
	}
	return found, nil
}

// Has reports whether there is any package of a provider.
func (f Filesystem) Has(p addrs.Provider) bool {
	packages, err := f.packages(p)
	return err == nil && len(packages) > 0
}

// LocalArchive is an archive in a directory.
type LocalArchive struct {
	Version  depsfile.Version
	Platform depsfile.Platform
	Path     string
}

// Archives returns all archives of a provider.
func (f Filesystem) Archives(p addrs.Provider) []LocalArchive {
	packages, err := f.packages(p)
	if err != nil {
		return nil
	}
	var found []LocalArchive
	for _, pkg := range packages {
		if pkg.archive != "" {
			found = append(found, LocalArchive{pkg.version, pkg.platform, pkg.archive})
		}
	}
	return found
}

// Unpacked reports whether the directory has the package in unpacked form.
func (f Filesystem) Unpacked(p addrs.Provider, v depsfile.Version, platform depsfile.Platform) bool {
	info, err := os.Stat(packageDir(f.providerDir(p), v, platform))
	return err == nil && info.IsDir()
}

// ArchiveName returns the file name of an archive in registries and mirrors.
func ArchiveName(p addrs.Provider, v depsfile.Version, platform depsfile.Platform) string {
	return fmt.Sprintf("terraform-provider-%s_%s_%s.zip", p.Type, v, platform)
}

// providerDir returns the directory with the packages of a provider. As addresses of providers are
// the same in lower and upper case, so are the names of directories.
func (f Filesystem) providerDir(p addrs.Provider) string {
	at := f.Dir
	for _, part := range []string{p.DisplayHost(), p.Namespace, p.Type} {
		exact := filepath.Join(at, part)
		if _, err := os.Stat(exact); errors.Is(err, fs.ErrNotExist) {
			entries, _ := os.ReadDir(at)
			for _, e := range entries {
				if strings.EqualFold(e.Name(), part) {
					exact = filepath.Join(at, e.Name())
					break
				}
			}
		}
		at = exact
	}
	return at
}

// packageDir returns the directory of an unpacked package below that of its provider.
func packageDir(base string, v depsfile.Version, platform depsfile.Platform) string {
	return filepath.Join(base, v.String(), platform.String())
}

func (f Filesystem) packages(p addrs.Provider) ([]localPackage, error) {
	base := f.providerDir(p)
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		_, err = os.Stat(f.Dir) // the provider may be missing, but a missing mirror directory is a mistake
	} else if err == nil {
		return f.list(base, p, entries), nil
	}
	if err != nil {
		return nil, fmt.Errorf("searching %s: %w", f, err)
	}
	return nil, nil
}

// list returns the packages among the entries of a provider's directory.
func (f Filesystem) list(base string, p addrs.Provider, entries []fs.DirEntry) []localPackage {
	var found []localPackage
	for _, e := range entries {
		path := filepath.Join(base, e.Name())
		if v, platform, ok := parseArchiveName(e.Name(), p); ok {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				found = append(found, localPackage{version: v, platform: platform, archive: path})
			}
			continue
		}
		v, err := depsfile.ParseVersion(e.Name())
		if err != nil || v.String() != e.Name() {
			continue
		}
		platforms, err := os.ReadDir(path)
		if err != nil {
			continue // a file that isn't a package
		}
		for _, e := range platforms {
			platform, err := depsfile.ParsePlatform(e.Name())
			dir := packageDir(base, v, platform)
			if err != nil {
				continue
			}
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				found = append(found, localPackage{version: v, platform: platform, dir: dir})
			}
		}
	}
	return found
}

var archiveName = regexp.MustCompile(`^terraform-provider-(.+)_([^_]+)_([a-z0-9]+_[a-z0-9]+)\.zip$`)

func parseArchiveName(name string, p addrs.Provider) (v depsfile.Version, platform depsfile.Platform, ok bool) {
	m := archiveName.FindStringSubmatch(name)
	if m == nil || !strings.EqualFold(m[1], p.Type) {
		return v, platform, false
	}
	v, err := depsfile.ParseVersion(strings.TrimPrefix(m[2], "v"))
	if err != nil {
		return v, platform, false
	}
	platform, err = depsfile.ParsePlatform(m[3])
	return v, platform, err == nil
}
