package roots

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/tfdiags"
)

// Directory is a directory with configuration files or a lock file.
type Directory struct {
	Dir        string
	Real       string // absolute path without symbolic links, which identifies the directory
	Locked     bool   // has a lock file
	Configured bool   // has configuration files
}

// Directories searches directory trees. It skips hidden directories and doesn't follow symbolic
// links. An unreadable directory is reported as an error, but the search continues. The result is
// sorted by path.
func Directories(dirs []string) ([]Directory, error) {
	t := searchAll(dirs)
	return t.found, t.errs.Err()
}

func searchAll(dirs []string) *tree {
	t := &tree{seen: make(map[string]bool)}
	for _, dir := range dirs {
		t.search(filepath.Clean(dir))
	}
	slices.SortFunc(t.found, func(a, b Directory) int {
		return strings.Compare(filepath.ToSlash(a.Dir), filepath.ToSlash(b.Dir))
	})
	slices.Sort(t.files)
	return t
}

// tree collects the directories and files that a search finds.
type tree struct {
	found []Directory
	files []string        // the paths of all roots.tofu.hcl files
	seen  map[string]bool // directories found so far, by [Real] path
	errs  tfdiags.Diagnostics
}

func (t *tree) search(dir string) {
	d := Directory{Dir: dir, Real: Real(dir)}
	if t.seen[d.Real] {
		return
	}
	t.seen[d.Real] = true
	entries, err := List(dir)
	t.errs = t.errs.AppendError(err)
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir() && !strings.HasPrefix(name, "."):
			t.search(filepath.Join(dir, name))
		case e.IsDir():
		case name == depsfile.FileName:
			d.Locked = true
		case name == rootsfile.FileName:
			t.files = append(t.files, filepath.Join(dir, name))
		case configs.IsConfigFile(name):
			d.Configured = true
		}
	}
	if d.Configured || d.Locked {
		t.found = append(t.found, d)
	}
}

// List returns the entries of a directory. The error says that the directory can't be searched for
// configuration files.
func List(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, tfdiags.Errorf("Unreadable directory",
			"The directory %s can't be searched for configuration files: %s.", dir, WithoutPath(err))
	}
	return entries, nil
}

// WithoutPath returns a file system error without its path, for messages that already contain it.
func WithoutPath(err error) error {
	if pathErr := new(fs.PathError); errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// Absolute returns the absolute path of a directory. If the working directory is unknown, it only
// cleans the path.
func Absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	return abs
}
