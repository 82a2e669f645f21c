package roots

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tofu/internal/dag"
	"tofu/internal/memo"
	"tofu/internal/tfdiags"
)

// ChangedFiles returns the absolute paths of all files in dir's git repository that differ from a
// commit, including new files that git doesn't ignore. ref names the commit. If HEAD doesn't
// descend from that commit, the files are compared with the last common ancestor of both.
func ChangedFiles(ctx context.Context, dir, ref string) ([]string, error) {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if text := strings.TrimSpace(stderr.String()); err != nil && text != "" {
			err = errors.New(text)
		}
		return string(out), err
	}
	fail := func(err error) error {
		return tfdiags.Errorf("Failed to find what changed", "git can't compare the files with %q: %s.", ref,
			strings.TrimSuffix(err.Error(), "."))
	}
	top, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fail(err)
	}
	commit, err := git("rev-parse", "--verify", "--end-of-options", ref+"^{commit}")
	if err != nil && strings.Contains(err.Error(), "Needed a single revision") {
		err = errors.New("the repository has no such commit; if it is a remote one, fetch it first")
	}
	if err != nil {
		return nil, fail(err)
	}
	base, err := git("merge-base", strings.TrimSpace(commit), "HEAD")
	if err != nil {
		base = commit // the histories are unrelated
	}
	top = strings.TrimSpace(top)
	dir = top // git diff prints paths relative to the top, and covers the whole repository there
	tracked, err := git("diff", "--name-only", "-z", "--no-renames", strings.TrimSpace(base), "--")
	if err != nil {
		return nil, fail(err)
	}
	others, err := git("ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, fail(err)
	}
	var out []string
	for name := range strings.SplitSeq(tracked+others, "\x00") {
		if name != "" {
			out = append(out, filepath.Join(top, filepath.FromSlash(name)))
		}
	}
	return out, nil
}

// Changed returns a function for [Selection] that reports whether a root module depends on one of
// the given files, whose paths are absolute. A root module depends on the files in its directory
// and in the local modules that it calls. A file in a subdirectory belongs to the nearest of these
// directories above it. A root module also depends on its variable files, on files that its
// expressions read by a constant path, and on the roots.tofu.hcl that applies to it with the files
// that this file reads. If a root module has changed, the root modules that need it have changed
// too. Local states and working files are ignored.
func (e *Estate) Changed(files []string) func(*Root) bool {
	dirs, paths := make(map[string][]*Root), make(map[string][]*Root)
	var read memo.Map[string, []string] // paths of files read, by directory or roots.tofu.hcl
	resolved := resolvedPaths()
	for _, r := range e.Roots {
		for _, dir := range append([]string{r.Dir}, r.modules...) {
			dirs[resolved(dir)] = append(dirs[resolved(dir)], r)
		}
		files := append(r.files(), r.constantPaths(&read)...)
		if r.Declared != nil {
			more, _ := read.Do(r.Declared.File, func() ([]string, error) {
				return filesReadByDeclarations(r.Declared.File), nil
			})
			files = append(files, more...)
		}
		for _, path := range files {
			paths[resolved(path)] = append(paths[resolved(path)], r)
		}
	}
	var start []dag.ID
	add := func(roots []*Root) {
		for _, r := range roots {
			start = append(start, r.id)
		}
	}
	for _, file := range files {
		if isWorkingFile(file) {
			continue
		}
		file = resolved(file)
		nearest := false
		for at := file; ; at = filepath.Dir(at) {
			add(paths[at])
			if at != file && !nearest && dirs[at] != nil {
				add(dirs[at])
				nearest = true
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	changed := dag.ReachIn(e.Graph.Dependents(), start...)
	for _, id := range start {
		changed[id] = true
	}
	return func(r *Root) bool { return changed[r.id] }
}

// isWorkingFile reports whether a run may have written a file: a local state, or a file in a
// directory for working files. Such a file is never treated as changed, even if git doesn't ignore
// it.
func isWorkingFile(path string) bool {
	dirs := strings.Split(filepath.ToSlash(filepath.Dir(path)), "/")
	if slices.Contains(dirs, ".terraform") {
		return true
	}
	return slices.ContainsFunc([]string{".tfstate", ".tfstate.backup", ".tfstate.lock.info"}, func(end string) bool {
		return strings.HasSuffix(path, end)
	})
}

// resolvedPaths returns a function that returns the absolute path of a file, with symbolic links in its directory
// resolved.
func resolvedPaths() func(path string) string {
	known := make(map[string]string) // by directory
	return func(path string) string {
		path = Absolute(path)
		dir := filepath.Dir(path)
		if known[dir] == "" {
			known[dir] = dir
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				known[dir] = real
			}
		}
		return filepath.Join(known[dir], filepath.Base(path))
	}
}

// files returns the variable files of a root module and the roots.tofu.hcl that applies to it.
func (r *Root) files() []string {
	if r.Declared == nil {
		return nil
	}
	var out []string
	for _, name := range r.Declared.VarFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(r.Dir, name)
		}
		out = append(out, name)
	}
	return append(out, r.Declared.File)
}
