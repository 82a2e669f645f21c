package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/getmodules"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

// findRoots returns the root modules below some directories that require providers: those with a
// lock file, and those that no other module below the directories calls by a relative path. broken
// are the directories of modules that can't be loaded. remark receives the progress, from several
// goroutines.
func findRoots(
	ctx context.Context, dirs []string, shared *getmodules.Shared, remark func(string),
) (roots []install.Root, broken []string, err error) {
	found, dirsErr := moduleDirs(dirs)
	parser := configs.NewParser(nil) // parse modules that several roots share once
	candidates := make([]candidate, len(found))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	var read atomic.Int32
	for i, m := range found {
		group.Go(func() error {
			candidates[i] = readCandidate(ctx, parser, shared, m)
			remark(fmt.Sprintf("%d of %d modules read", read.Add(1), len(found)))
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, tfdiags.Join(dirsErr, err)
	}
	called := make(map[string]bool)
	for _, c := range candidates {
		for _, dir := range c.calls {
			called[absolute(dir)] = true
		}
	}
	var errs []error
	for i, c := range candidates {
		if called[found[i].abs] && !found[i].locked {
			continue
		}
		switch {
		case c.err != nil:
			broken, errs = append(broken, found[i].dir), append(errs, c.err)
		case len(c.root.Reqs) > 0 || found[i].locked:
			roots = append(roots, c.root)
		}
	}
	return roots, broken, tfdiags.Join(dirsErr, joinByDir(broken, errs))
}

// moduleDir is a directory with configuration files.
type moduleDir struct {
	dir    string
	abs    string // identifies the directory
	locked bool   // has a lock file
}

// moduleDirs searches directory trees, except hidden directories and symbolic links. An unreadable
// directory is an error, and the search continues.
func moduleDirs(dirs []string) ([]moduleDir, error) {
	tree := moduleTree{seen: make(map[string]bool)}
	for _, dir := range dirs {
		tree.search(filepath.Clean(dir))
	}
	slices.SortFunc(tree.found, func(a, b moduleDir) int { return strings.Compare(a.dir, b.dir) })
	return tree.found, tree.errs.Err()
}

// moduleTree collects the directories with configuration files.
type moduleTree struct {
	found []moduleDir
	seen  map[string]bool // by absolute path
	errs  tfdiags.Diagnostics
}

func (t *moduleTree) search(dir string) {
	m := moduleDir{dir: dir, abs: absolute(dir)}
	if t.seen[m.abs] {
		return
	}
	t.seen[m.abs] = true
	entries, err := readModuleDir(dir)
	t.errs = t.errs.AppendError(err)
	configured := false
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir() && !strings.HasPrefix(name, "."):
			t.search(filepath.Join(dir, name))
		case e.IsDir():
		case name == depsfile.FileName:
			m.locked = true
		case configs.IsConfigFile(name):
			configured = true
		}
	}
	if configured || m.locked {
		t.found = append(t.found, m)
	}
}

// readModuleDir lists a directory that the user named or one below it.
func readModuleDir(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, tfdiags.Errorf("Unreadable directory",
			"The directory %s can't be searched for configuration files: %s.", dir, withoutPath(err))
	}
	return entries, nil
}

// withoutPath returns a file system error without its path, which may be temporary.
func withoutPath(err error) error {
	if pathErr := new(fs.PathError); errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// absolute returns a path that identifies a directory, or the path itself if the working directory
// is unknown.
func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	return abs
}

// candidate is a module that may be a root module.
type candidate struct {
	root  install.Root
	calls []string // local directories that it calls as modules
	err   error
}

// readCandidate loads a module and all modules that it calls. It drops warnings, because the
// command is not about the configuration.
func readCandidate(ctx context.Context, parser *configs.Parser, shared *getmodules.Shared, m moduleDir) candidate {
	var c candidate
	find, err := shared.Resolver(m.dir)
	if err != nil {
		c.err = err
		return c
	}
	resolve := func(ctx context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
		found, err := find(ctx, req)
		if req.Source.Kind == addrs.LocalModule {
			c.calls = append(c.calls, found.Dir)
		}
		return found, err
	}
	cfg, err := configs.LoadRoot(ctx, m.dir, &configs.LoadOptions{Parser: parser, Resolve: resolve,
		WorkDir: m.dir, Workspace: "default"}, tfdiags.Drop)
	if err != nil {
		c.err = err
		return c
	}
	c.root = install.Root{Dir: m.dir, Reqs: session.Requirements(cfg, nil)}
	c.root.Prev, c.err = depsfile.Load(c.root.LockFile(), tfdiags.Drop)
	return c
}
