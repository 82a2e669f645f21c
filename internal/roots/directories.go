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
	"tofu/internal/pace"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/tfdiags"
)

// Directory is a directory with configuration files or a lock file.
type Directory struct {
	Dir        string
	Real       string // absolute path without symbolic links, which identifies the directory
	Locked     bool   // has a lock file
	Configured bool   // has configuration files
	Declared   bool   // a roots.tofu.hcl declares it as a root module; see Modules
	Excluded   bool   // a roots.tofu.hcl excludes it; see Modules
}

// Modules searches directory trees for modules. It skips hidden directories and doesn't follow
// symbolic links, but the result has all directories that a roots.tofu.hcl in one of dirs declares.
// An unreadable directory is reported as an error, but the search continues; after an error in a
// roots.tofu.hcl, nothing is found. The result is sorted by path. unread are the directories that
// can't be read.
func Modules(dirs []string, p *configs.Parser) (found []Directory, unread []string, err error) {
	t := searchAll(dirs, p.FS())
	files, err := loadFiles(dirs, nil, func(string) *configs.Parser { return p })
	if err != nil {
		return nil, nil, err
	}
	t.exclude(files)
	index := make(map[string]int, len(t.found))
	for i, d := range t.found {
		index[d.Real] = i
		if f, name := nearest(d, files); f != nil {
			t.found[i].Excluded = f.Excludes(name)
		}
	}
	for _, f := range files {
		for _, r := range f.Roots {
			i, ok := index[Real(r.Dir)]
			if !ok && !p.IsModuleDir(r.Dir) {
				continue // the directory is missing or empty, which the commands for root modules report
			}
			if !ok {
				i = len(t.found)
				index[Real(r.Dir)] = i
				t.found = append(t.found, Directory{Dir: r.Dir, Real: Real(r.Dir), Configured: true})
			}
			t.found[i].Declared = true
		}
	}
	sortByPath(t.found)
	return t.found, t.unread(), t.errs().Err()
}

func sortByPath(list []Directory) {
	slices.SortFunc(list, func(a, b Directory) int {
		return strings.Compare(filepath.ToSlash(a.Dir), filepath.ToSlash(b.Dir))
	})
}

func searchAll(dirs []string, fsys configs.FS) *tree {
	t := &tree{fsys: fsys, seen: make(map[string]bool), labels: make(map[string]int)}
	for _, dir := range dirs {
		t.search(filepath.Clean(dir))
	}
	sortByPath(t.found)
	slices.Sort(t.files)
	return t
}

// tree collects the directories and files that a search finds.
type tree struct {
	fsys   configs.FS
	found  []Directory
	files  []string        // the paths of all roots.tofu.hcl files
	seen   map[string]bool // directories found so far, by [Real] path
	failed []failed
	limits pace.Limits    // from the roots.tofu.hcl files
	share  bool           // whether one of the roots.tofu.hcl files says so
	labels map[string]int // see rootsfile.File.LabelLimits
}

// failed is a directory that can't be searched.
type failed struct {
	Directory
	err error
}

// exclude forgets the directories that can't be searched and that files exclude.
func (t *tree) exclude(files []*rootsfile.File) {
	t.failed = slices.DeleteFunc(t.failed, func(d failed) bool {
		f, name := nearest(d.Directory, files)
		return f != nil && f.Excludes(name)
	})
}

// unread returns the paths of the directories that can't be searched.
func (t *tree) unread() (dirs []string) {
	for _, d := range t.failed {
		if !isNoDirectory(d.Dir) {
			dirs = append(dirs, d.Dir)
		}
	}
	return dirs
}

// errs returns the errors about the directories that can't be searched.
func (t *tree) errs() (errs tfdiags.Diagnostics) {
	for _, d := range t.failed {
		errs = errs.AppendError(d.err)
	}
	return errs
}

func (t *tree) search(dir string) {
	d := Directory{Dir: dir, Real: Real(dir)}
	if t.seen[d.Real] {
		return
	}
	t.seen[d.Real] = true
	entries, err := list(t.fsys, dir)
	if err != nil {
		t.failed = append(t.failed, failed{d, err})
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir() && !strings.HasPrefix(name, "."):
			t.search(filepath.Join(dir, name))
		case e.IsDir():
		case name == depsfile.FileName:
			d.Locked = true
		case name == rootsfile.FileName:
			t.files = append(t.files, filepath.Join(dir, name))
		case configs.IsConfigFile(name) && !strings.HasPrefix(name, "."): // editors leave hidden ones
			d.Configured = true
		}
	}
	if d.Configured || d.Locked {
		t.found = append(t.found, d)
	}
}

// isNoDirectory reports whether a path is not that of a directory, whose content could be unknown.
func isNoDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() || errors.Is(err, fs.ErrNotExist)
}

// List returns the entries of a directory. The error says that the directory can't be searched for
// configuration files.
func List(dir string) ([]fs.DirEntry, error) { return list(configs.OS{}, dir) }

func list(fsys configs.FS, dir string) ([]fs.DirEntry, error) {
	entries, err := fsys.ReadDir(dir)
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
