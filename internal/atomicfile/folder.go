package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// prefix begins all temporary names. It is the program's own, since files of others may lie beside them.
const prefix = ".tofu-tmp-"

// Folder makes a temporary folder in a folder, from where what is in it can be renamed to its place. The caller removes it.
func Folder(parent string) (string, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	RemoveStale(parent)
	return os.MkdirTemp(parent, prefix)
}

// staleAge is how long nothing may have happened to what is removed.
const staleAge = 6 * time.Hour

// RemoveStale removes from a folder what processes that were killed hours ago left there. It is a service to the disk: what can't be
// removed stays.
func RemoveStale(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); strings.HasPrefix(e.Name(), prefix) && stale(path) {
			os.RemoveAll(path)
		}
	}
}

// stale tells whether nobody works on it any more: a slow download into a folder changes the file in it, not the folder.
func stale(path string) bool {
	paths := []string{path}
	if entries, err := os.ReadDir(path); err == nil {
		for _, e := range entries {
			paths = append(paths, filepath.Join(path, e.Name()))
		}
	}
	for _, path := range paths {
		if info, err := os.Lstat(path); err != nil || time.Since(info.ModTime()) < staleAge {
			return false
		}
	}
	return true
}
