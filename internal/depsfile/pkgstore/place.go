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

// ErrModified tells that a folder holds another package than the one that belongs there.
var ErrModified = errors.New("it holds something else than the package that belongs there; was it modified?")

// Place puts a copy of a stored package into target: reflinks where the file system can, else hard links, else
// copies. A folder that is there already stays when it has the same content, or is filled when it is empty; anything
// else is ErrModified. A symbolic link in its place is replaced.
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
		if done, _ := s.occupied(target, c.Hash); done { // another process was faster
			return nil
		}
		return fmt.Errorf("putting the package into place: %w", err)
	}
	// Only a convenience: without it the next command hashes the package once.
	_ = s.rememberStat(target, c.Hash)
	return nil
}

// occupied tells whether target holds a package with this hash; it removes a symbolic link with another one.
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
	return false, fmt.Errorf("existing folder %s: %w", target, ErrModified)
}

// Link makes target a symbolic link to dir, in place of whatever is there. Where links aren't allowed it copies.
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

// exchange puts fresh into target's place. A folder can't be replaced by a rename: it is moved to old first, and back if nothing came
// into its place.
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

// copying is how packages are copied, which are never written to.
var copying = atomicfile.CopyOptions{Link: runtime.GOOS != "windows"}
