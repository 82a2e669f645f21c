package roots

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/session"
)

// Part is a part of an estate, for work on single root modules where the others are not there.
type Part struct {
	Read   []string  // names of the root modules that are there
	Others []Summary // root modules that they need
	// Variables are the names of the variables of all root modules of the estate; see [Estate.Variables].
	Variables []string
}

// Variables returns the names of the variables that any root module declares, sorted.
func (e *Estate) Variables() []string {
	if len(e.Roots) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(e.Roots[0].elsewhere))
}

// Summary has what a root module must know about another one that it needs.
type Summary struct {
	Name      string   `json:"name"`
	Dir       string   `json:"dir"`
	State     StateID  `json:"state"`
	Outputs   []string `json:"outputs,omitempty"`
	Sensitive []string `json:"sensitive,omitempty"` // names of sensitive outputs
}

// Summary returns the summary of a root module.
func (r *Root) Summary() Summary {
	return Summary{r.Name, filepath.ToSlash(r.Dir), r.State, r.Outputs, r.sensitive}
}

// LoadPart is like Load for a part of an estate. Only the directories of the root modules that are read, and
// their declarations, must be there. Each root module has a directory for working files of its own.
func LoadPart(
	ctx context.Context, dirs []string, part *Part, open func(session.RootModule) *session.Session,
) (*Estate, error) {
	return load(ctx, dirs, part, nil, open)
}

// file reads a roots.tofu.hcl, or what concerns the part in the pieces of it.
func (p *Part) file(parser *configs.Parser, dir string) (*rootsfile.File, error) {
	if p == nil {
		return rootsfile.Load(parser, dir)
	}
	f, err := rootsfile.LoadPieces(parser, dir, p.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// Declaration returns the part of a roots.tofu.hcl that concerns the root module: the texts of files
// that LoadPart reads, by absolute path.
func (r *Root) Declaration() map[string][]byte {
	if r.Declared == nil {
		return nil
	}
	out := make(map[string][]byte)
	dir := filepath.Join(filepath.Dir(Absolute(r.Declared.File)), rootsfile.PiecesDir)
	for _, p := range r.Declared.Pieces() {
		out[filepath.Join(dir, p.Name)] = p.Text
	}
	return out
}

// add returns the root modules that were read and the others, sorted by name.
func (p *Part) add(read []*Root) []*Root {
	if p == nil {
		return nil
	}
	all := slices.Clone(read)
	for _, s := range p.Others {
		if !slices.Contains(p.Read, s.Name) {
			all = append(all, &Root{Name: s.Name, Dir: filepath.FromSlash(s.Dir), State: s.State, Outputs: s.Outputs,
				sensitive: s.Sensitive})
		}
	}
	slices.SortFunc(all, func(a, b *Root) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// NeedsFiles returns the root modules whose files the work on r needs too: it reads the outputs in their
// states with their backends. selected are those whose outputs the run itself knows.
func (e *Estate) NeedsFiles(r *Root, selected func(*Root) bool) (out []*Root) {
	for _, read := range r.Reads {
		if read.Kind == Variable && read.Root != r && !selected(read.Root) && !slices.Contains(out, read.Root) {
			out = append(out, read.Root)
		}
	}
	return out
}

// Files lists the files that root modules read.
type Files struct {
	estate *Estate
	kept   map[string]bool     // absolute paths of the files that git doesn't ignore; nil outside of git
	top    string              // the top directory of the repository
	below  map[string][]string // files by directory
	dirs   map[string]bool     // directories of root modules

	declared map[[2]string][]string // files that pieces of roots.tofu.hcl files read
}

// Files returns a Files for an estate.
func (e *Estate) Files(ctx context.Context) *Files {
	f := &Files{estate: e, below: make(map[string][]string), dirs: make(map[string]bool), declared: make(map[[2]string][]string)}
	for _, r := range e.Roots {
		f.dirs[Absolute(r.Dir)] = true
	}
	up, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-cdup").Output()
	if err != nil {
		return f
	}
	dir := filepath.Join(Absolute("."), strings.TrimSpace(string(up)))
	list, err := exec.CommandContext(ctx, "git", "-C", dir, "ls-files", "-z", "--cached", "--others",
		"--exclude-standard").Output()
	if err != nil {
		return f
	}
	f.top, f.kept = dir, make(map[string]bool)
	for name := range strings.SplitSeq(string(list), "\x00") {
		f.kept[filepath.Join(dir, filepath.FromSlash(name))] = true
	}
	return f
}

// Of returns the absolute paths of the files that a root module reads, sorted: those in its directory and in its
// local modules, files of variables, and files that expressions read by a constant path, also in the
// roots.tofu.hcl that applies to it (see [Root.Declaration]). Files that git ignores, states and working
// files are left out.
func (f *Files) Of(r *Root) []string {
	var out []string
	for i, dir := range r.Directories() {
		if slices.Contains(strings.Split(filepath.ToSlash(dir), "/"), ".terraform") {
			continue // workers install it again
		}
		out = append(out, f.in(Absolute(dir))...)
		for _, name := range filesRead(dir, i == 0 && dir == r.Dir) {
			out = append(out, f.at(Absolute(name))...)
		}
	}
	for _, name := range r.files() {
		if name != "" && filepath.Base(name) != rootsfile.FileName {
			out = append(out, f.at(Absolute(name))...)
		}
	}
	if r.Declared != nil && r.Declared.File != "" {
		for _, p := range r.Declared.Pieces() {
			if p.Node != nil {
				out = append(out, f.readBy(r.Declared.File, p)...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// readBy returns the files that a piece of a roots.tofu.hcl reads.
func (f *Files) readBy(file string, p rootsfile.Piece) []string {
	key := [2]string{file, p.Name}
	out, known := f.declared[key]
	if !known {
		for _, name := range filesReadIn(p.Node, topPath(file), filepath.Dir(file)) {
			out = append(out, f.at(Absolute(name))...)
		}
		f.declared[key] = out
	}
	return out
}

// At returns the files in or below a path, which may be that of a file.
func (f *Files) At(path string) []string { return f.at(Absolute(path)) }

func (f *Files) at(path string) []string {
	if isNoDirectory(path) {
		if f.keeps(path) {
			return []string{path}
		}
		return nil
	}
	return f.in(path)
}

// in returns the files in a directory and below it, without hidden directories and those of root modules.
func (f *Files) in(dir string) []string {
	if found, ok := f.below[dir]; ok {
		return found
	}
	entries, err := List(dir)
	if err != nil {
		return nil // reading the root module reports it
	}
	var out []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() && (strings.HasPrefix(e.Name(), ".") || f.dirs[path]):
		case e.IsDir():
			out = append(out, f.in(path)...)
		case f.keeps(path) && e.Name() != rootsfile.FileName:
			out = append(out, path)
		}
	}
	f.below[dir] = out
	return out
}

// keeps reports whether a file is sent to workers.
func (f *Files) keeps(path string) bool {
	if isWorkingFile(path) || !isRegular(path) {
		return false
	}
	name := filepath.Base(path)
	if f.kept == nil || !strings.HasPrefix(path, f.top+string(filepath.Separator)) {
		return !strings.HasPrefix(name, ".") || name == depsfile.FileName || name == depsfile.ModulesFileName ||
			configs.IsConfigFile(name) || name == rootsfile.FileName
	}
	return f.kept[path]
}

// isRegular reports whether a path is that of a file with content, or of a link to one.
func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
