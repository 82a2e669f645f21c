package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// prefix is the prefix of all temporary names. It is specific to this program because the same
// directory may contain files of other programs.
const prefix = ".tofu-tmp-"

// TempDir creates a temporary directory in parent, from which files can be renamed to their final
// paths. The caller removes it. TempDir also creates parent, and removes the leftovers of killed
// processes in it.
func TempDir(parent string) (string, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	RemoveStale(parent)
	return os.MkdirTemp(parent, prefix)
}

// staleAge is the age at which an unchanged leftover is removed.
const staleAge = 6 * time.Hour

// RemoveStale removes leftovers in dir from processes that were killed hours ago. It only frees
// disk space, so errors are ignored.
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

// stale reports whether path has been unused for staleAge. For a directory, it also checks the
// files in it, because a slow download changes a file but not its directory.
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
