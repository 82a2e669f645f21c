package pkgstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"tofu/internal/atomicfile"
	"tofu/internal/depsfile"
)

// ErrModified reports that a directory contains something other than the expected package.
var ErrModified = errors.New("its content is not the expected package; if it was modified, delete it and try again")

// Place copies a stored package to target. It uses reflinks if possible, otherwise hard links,
// otherwise plain copies. If target is a directory with the same content, or a symbolic link to
// one, it is kept. If it is an empty directory, it is filled. Any other symbolic link is replaced.
// For any other content, Place returns ErrModified.
func (s *Store) Place(c Content, target string) error {
	if done, err := s.occupied(target, c.Hash); done || err != nil {
		return err
	}
	tmp, err := atomicfile.TempDir(filepath.Dir(target))
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	err = s.relinked(c.Dir, func() error { return copying.CopyTree(c.Dir, filepath.Join(tmp, "package")) })
	if err != nil {
		return fmt.Errorf("copying the package to %s: %w", target, err)
	}
	err = os.Rename(filepath.Join(tmp, "package"), target)
	if err != nil {
		if done, _ := s.occupied(target, c.Hash); done { // another process has placed the package
			return nil
		}
		return fmt.Errorf("putting the package into place: %w", err)
	}
	// If this fails, the next command hashes the package again.
	_ = s.rememberStat(target, c.Hash)
	return nil
}

// occupied reports whether target contains the package with the given hash. It removes target if it
// is an empty directory, or a symbolic link to anything else. Other content is an error.
func (s *Store) occupied(target string, h depsfile.Hash) (bool, error) {
	info, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	link := info.Mode()&fs.ModeSymlink != 0
	if !link && info.IsDir() {
		if entries, err := os.ReadDir(target); err == nil && len(entries) == 0 {
			return false, os.Remove(target)
		}
	}
	got, err := s.ContentHash(target)
	switch {
	case err == nil && got == h:
		return true, nil
	case link:
		return false, os.Remove(target)
	case err != nil:
		return false, err
	}
	return false, fmt.Errorf("%s already exists: %w", target, ErrModified)
}

// Link replaces target with a symbolic link to dir, or with a copy of dir where links aren't
// allowed.
func (s *Store) Link(dir, target string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if now, err := os.Readlink(target); err == nil && now == abs {
		return nil
	}
	tmp, err := atomicfile.TempDir(filepath.Dir(target))
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	fresh := filepath.Join(tmp, "package")
	if err := os.Symlink(abs, fresh); err != nil {
		real, rerr := filepath.EvalSymlinks(abs)
		if rerr != nil {
			return rerr
		}
		if err := copying.CopyTree(real, fresh); err != nil {
			return fmt.Errorf("copying the package to %s: %w", target, err)
		}
	}
	if err := exchange(fresh, target, filepath.Join(tmp, "old")); err != nil {
		return fmt.Errorf("linking the package into place: %w", err)
	}
	return nil
}

// exchange renames the directory at the path fresh to target. One rename can't replace a directory,
// so an existing directory at target is first renamed to the path old. It is moved back if the
// second rename fails.
func exchange(fresh, target, old string) error {
	if info, err := os.Lstat(target); err != nil || !info.IsDir() {
		return os.Rename(fresh, target)
	}
	if err := os.Rename(target, old); err != nil {
		return err
	}
	err := os.Rename(fresh, target)
	if err != nil {
		err = errors.Join(err, os.Rename(old, target))
	}
	return err
}

// copying holds the options for copying packages. Hard links are allowed, because nothing writes to
// packages.
var copying = atomicfile.CopyOptions{Link: runtime.GOOS != "windows"}
