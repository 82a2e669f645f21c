package getmodules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/depsfile"
)

// CopyRoot copies the module at source to dir to start a new root module. It skips files that
// belong to a working directory: .terraform, the lock file and the repository's own data. If
// CopyRoot fails, dir is unchanged.
//
// The caller must make sure that dir has no other files of its own.
func (in *Installer) CopyRoot(ctx context.Context, source, dir string) (err error) {
	src, err := addrs.ParseModuleSource(source, false)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "module-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	from, err := in.rootPackage(ctx, src, filepath.Join(tmp, "package"))
	if err != nil {
		return err
	}
	if err := checkRoot(from, dir); err != nil {
		return err
	}
	undo, err := undoable(dir)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			undo()
		}
	}()
	if err := (atomicfile.CopyOptions{KeepLinks: true, Exclude: isPrivate}).CopyTree(from, dir); err != nil {
		return err
	}
	return in.write()
}

// checkRoot returns an error if from is not a directory, or if it contains dir, into which it would
// be copied.
func checkRoot(from, dir string) error {
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no directory %s", from)
	}
	here, err := filepath.EvalSymlinks(dir)
	if err == nil {
		here, err = filepath.Abs(here)
	}
	if err != nil {
		return err
	}
	whole, err := filepath.Abs(from)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(whole, here); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("the directory %s contains the working directory, so it can't be copied there", from)
	}
	return nil
}

// undoable returns a function that removes all files and directories that were added to dir since
// this call.
func undoable(dir string) (func(), error) {
	before, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	return func() {
		after, _ := os.ReadDir(dir)
		for _, entry := range after {
			same := func(old os.DirEntry) bool { return old.Name() == entry.Name() }
			if !slices.ContainsFunc(before, same) {
				os.RemoveAll(filepath.Join(dir, entry.Name()))
			}
		}
	}, nil
}

// rootPackage returns the directory of the module at src, with symbolic links resolved. Remote
// modules are fetched to dir.
func (in *Installer) rootPackage(ctx context.Context, src addrs.ModuleSource, dir string) (string, error) {
	place := location{address: src.Address, subdir: src.Subdir}
	switch src.Kind {
	case addrs.LocalModule:
		from, err := filepath.EvalSymlinks(filepath.FromSlash(src.Address))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no directory %s", src.Address)
		}
		return from, err
	case addrs.RegistryModule:
		found, err := in.locator.choose(ctx, src, nil)
		if err != nil {
			return "", err
		}
		for _, y := range found.young {
			in.notify(PassedOver{src.Address, y})
		}
		place, err = in.locator.locate(ctx, src, found.version)
		if err != nil {
			return "", err
		}
	}
	// Use a separate fetcher, because the installer's own would treat this temporary copy as an
	// installed package.
	got, err := newFetcher(in.opts.Client).into(ctx, request{location: place}, dir)
	if err != nil {
		return "", err
	}
	if subdir := path.Join(got.subdir, place.subdir); subdir != "" {
		dir, err = within(dir, subdir)
		if err != nil {
			return "", fmt.Errorf("in its package, %w", err)
		}
	}
	return filepath.EvalSymlinks(dir)
}

// isPrivate reports whether a file or directory belongs to a working directory or repository rather
// than to a module.
func isPrivate(name string) bool {
	return name == ".git" || name == ".hg" || name == ".terraform" || name == depsfile.FileName
}
