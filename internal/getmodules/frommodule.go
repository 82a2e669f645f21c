package getmodules

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
)

// CopyRoot fetches the package of a source and copies the module in it to dir: the start of a new root module. What
// belongs to a working directory rather than to a module (.terraform, the lock file, a repository's own data) is left
// out. The caller makes sure that dir has no configuration.
func (in *Installer) CopyRoot(ctx context.Context, source, dir string) error {
	src, err := addrs.ParseModuleSource(source, false)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(in.opts.Dir, ".tmp-")
	if err != nil {
		if err = os.MkdirAll(in.opts.Dir, 0o755); err == nil {
			tmp, err = os.MkdirTemp(in.opts.Dir, ".tmp-")
		}
		if err != nil {
			return err
		}
	}
	defer os.RemoveAll(tmp)
	from, err := in.rootPackage(ctx, src, filepath.Join(tmp, "package"))
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if err := copyModule(real, dir); err != nil {
		return err
	}
	return in.write()
}

// rootPackage gives the folder of the module that a source means.
func (in *Installer) rootPackage(ctx context.Context, src addrs.ModuleSource, dir string) (string, error) {
	address, subdir, host := src.Address, src.Subdir, ""
	switch src.Kind {
	case addrs.LocalModule:
		return filepath.FromSlash(src.Address), nil
	case addrs.RegistryModule:
		registryHost, module, _ := strings.Cut(src.Address, "/")
		list, err := in.opts.Client.ModuleVersions(ctx, registryHost, module)
		if err != nil {
			return "", err
		}
		version, ok := sources.Newest(list.List, depsfile.Acceptable(nil).Has)
		if !ok {
			return "", fmt.Errorf("module %s has no releases", src.Address)
		}
		place, err := in.opts.Client.ModuleLocation(ctx, registryHost, module, version.String())
		if err != nil {
			return "", err
		}
		located, err := addrs.ParseModuleSource(place.Address, false)
		if err != nil {
			return "", err
		}
		address, subdir, host = located.Address, path.Join(located.Subdir, subdir), place.Host
	}
	got, err := newFetcher(in.opts.Client).into(ctx, request{address: address, host: host}, dir) // not the installer's own: the copy is temporary
	if err != nil {
		return "", err
	}
	if subdir = path.Join(got.subdir, subdir); subdir == "" {
		return dir, nil
	}
	return within(dir, subdir)
}

func copyModule(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		base := d.Name()
		if rel != "." && (base == ".git" || base == ".hg" || base == ".terraform" || base == depsfile.FileName) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		}
		return copyFile(name, target)
	})
}
