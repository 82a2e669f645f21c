package getmodules

import (
	"os"
	"path"
	"path/filepath"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/staging"
)

// CopyRoot fetches the package of a source and copies the module in it to dir: the start of a new root module. What
// belongs to a working directory rather than to a module (.terraform, the lock file, a repository's own data) is left
// out. The caller makes sure that dir has no configuration.
func (in *Installer) CopyRoot(source, dir string) error {
	src, err := addrs.ParseModuleSource(source, false)
	if err != nil {
		return err
	}
	tmp, err := staging.Folder(in.opts.Dir)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	from, err := in.rootPackage(src, filepath.Join(tmp, "package"))
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if err := (staging.Copying{KeepLinks: true, LeaveOut: isPrivate}).Tree(real, dir); err != nil {
		return err
	}
	return in.write()
}

// rootPackage gives the folder of the module that a source means.
func (in *Installer) rootPackage(src addrs.ModuleSource, dir string) (string, error) {
	place := location{address: src.Address, subdir: src.Subdir}
	switch src.Kind {
	case addrs.LocalModule:
		return filepath.FromSlash(src.Address), nil
	case addrs.RegistryModule:
		version, _, err := in.locator.choose(src, nil)
		if err != nil {
			return "", err
		}
		if place, err = in.locator.locate(src, version); err != nil {
			return "", err
		}
	}
	// The installer's own fetcher would take the copy, which is temporary, for an installed package.
	got, err := newFetcher(in.opts.Client).into(in.ctx, request{address: place.address, host: place.host}, dir)
	if err != nil {
		return "", err
	}
	if subdir := path.Join(got.subdir, place.subdir); subdir != "" {
		return within(dir, subdir)
	}
	return dir, nil
}

// isPrivate tells whether a file or folder is the working directory's own.
func isPrivate(name string) bool {
	return name == ".git" || name == ".hg" || name == ".terraform" || name == depsfile.FileName
}
