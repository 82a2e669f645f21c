package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckBelow returns an error if path, which must begin with root, leads to root itself or out of
// root through a symbolic link below root, or contains a broken link there. Symbolic links in root
// itself are allowed, because the user chooses root. Links below root are not trusted: they may be
// part of a repository that the user has cloned. The path need not exist.
func CheckBelow(root, path string) error {
	root, present := filepath.Clean(root), filepath.Clean(path)
	for present != root && present != filepath.Dir(present) {
		if _, err := os.Lstat(present); err == nil {
			break
		}
		present = filepath.Dir(present)
	}
	if present == root {
		return nil
	}
	inside, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(present)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is a broken symbolic link", present)
	}
	if err != nil {
		return fmt.Errorf("resolving symbolic links in %s: %w", present, err)
	}
	if rel, err := filepath.Rel(inside, target); err != nil || rel == "." || !filepath.IsLocal(rel) {
		return fmt.Errorf("%s leads through a symbolic link to a place that is not below %s", present, root)
	}
	return nil
}

// ThroughLink reports whether a relative path leads through a symbolic link. Such a link may be part
// of a repository that the user has cloned. An absolute path is the user's own choice.
func ThroughLink(path string) bool {
	for path = filepath.Clean(path); filepath.IsLocal(path) && path != "."; path = filepath.Dir(path) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// RemoveLink removes path if it is a symbolic link. A file written to path afterwards is then
// created there, not at the link's target.
func RemoveLink(path string) error {
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	return os.Remove(path)
}

// ErrNotRegular is the error of CheckRegular and Read.
var ErrNotRegular = errors.New("not a regular file")

// CheckRegular returns an error if path is a device, a pipe or a socket, or a link to one. Using it
// as a file could wait for ever or never end.
func CheckRegular(path string) error {
	if isDevice(os.Stat(path)) {
		return fmt.Errorf("%s is %w", path, ErrNotRegular)
	}
	return nil
}

// IsNull reports whether path is the null device, or a link to it.
func IsNull(path string) bool {
	info, err := os.Stat(path)
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && nullErr == nil && os.SameFile(info, null)
}

// Read reads a whole file, which must be a regular one; see CheckRegular.
func Read(path string) ([]byte, error) {
	if err := CheckRegular(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// Open opens a file for reading, which must be a regular one; see CheckRegular.
func Open(path string) (*os.File, error) {
	if err := CheckRegular(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}
