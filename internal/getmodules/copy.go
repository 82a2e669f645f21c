package getmodules

import (
	"io/fs"
	"os"
	"path/filepath"

	"tofu/internal/staging"
)

// copyTree copies a folder without the entries to be left out. Symbolic links are copied as such, the folder itself too if it is one.
func copyTree(from, to string, leaveOut func(name string) bool) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case rel != "." && leaveOut != nil && leaveOut(d.Name()):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		}
		return staging.CopyFile(path, target, false) // people edit modules
	})
}
