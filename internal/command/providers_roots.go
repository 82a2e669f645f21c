package command

import (
	"context"
	"fmt"
	"io/fs"
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
	"tofu/internal/tfdiags"
)

// findRoots gives the root modules below some directories that need providers: those with a lock file, and those that
// no other module below the directories calls by a relative path. Broken are the directories of those that can't be loaded. Remark is
// told how far it is, by many goroutines.
func findRoots(ctx context.Context, dirs []string, shared *getmodules.Shared, remark func(string)) (roots []install.Root, broken []string, diags tfdiags.Diagnostics) {
	found, diags := moduleDirs(dirs)
	parser := configs.NewParser(nil) // modules that several roots share are parsed once
	candidates := make([]candidate, len(found))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	var read atomic.Int32
	for i, m := range found {
		group.Go(func() error {
			candidates[i] = readCandidate(parser, shared, m)
			remark(fmt.Sprintf("%d of %d modules read", read.Add(1), len(found)))
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, diags.Append(err)
	}
	called := make(map[string]bool)
	for _, c := range candidates {
		for _, dir := range c.calls {
			called[dir] = true
		}
	}
	for i, c := range candidates {
		if called[found[i].dir] && !found[i].locked {
			continue
		}
		for _, d := range c.diags {
			if d.Severity == tfdiags.Error {
				diags = diags.Append(d)
			}
		}
		switch {
		case c.diags.HasErrors():
			broken = append(broken, found[i].dir)
		case len(c.root.Reqs) > 0 || found[i].locked:
			roots = append(roots, c.root)
		}
	}
	return roots, broken, diags
}

// moduleDir is a directory with configuration files.
type moduleDir struct {
	dir    string
	locked bool // it has a lock file
}

// moduleDirs walks directory trees, past hidden directories.
func moduleDirs(dirs []string) ([]moduleDir, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	found := make(map[string]*moduleDir)
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := d.Name()
			if d.IsDir() {
				if path != dir && strings.HasPrefix(name, ".") {
					return filepath.SkipDir
				}
				return nil
			}
			parent := filepath.Clean(filepath.Dir(path))
			if !isConfig(name) && name != depsfile.FileName {
				return nil
			}
			if found[parent] == nil {
				found[parent] = &moduleDir{dir: parent}
			}
			if name == depsfile.FileName {
				found[parent].locked = true
			}
			return nil
		})
		if err != nil {
			diags = diags.Append(tfdiags.Errorf("Unreadable directory", "Searching %s for root modules: %s.", dir, err))
		}
	}
	out := make([]moduleDir, 0, len(found))
	for _, m := range found {
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b moduleDir) int { return strings.Compare(a.dir, b.dir) })
	return out, diags
}

// isConfig tells whether a file's name is that of a configuration file.
func isConfig(name string) bool {
	return slices.ContainsFunc([]string{".tf", ".tf.json", ".tofu", ".tofu.json"}, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// candidate is a module that may be a root module.
type candidate struct {
	root  install.Root
	calls []string // directories of this machine that it calls as modules
	diags tfdiags.Diagnostics
}

// readCandidate loads a module with all it calls.
func readCandidate(parser *configs.Parser, shared *getmodules.Shared, m moduleDir) candidate {
	var c candidate
	find, diags := shared.Resolver(m.dir)
	if diags.HasErrors() {
		c.diags = diags
		return c
	}
	resolve := func(req *configs.ModuleRequest) (string, string, tfdiags.Diagnostics) {
		dir, version, diags := find(req)
		if req.Source.Kind == addrs.LocalModule {
			c.calls = append(c.calls, dir)
		}
		return dir, version, diags
	}
	cfg, diags := configs.LoadRoot(m.dir, &configs.LoadOptions{Parser: parser, Resolve: resolve, WorkDir: m.dir, Workspace: "default"})
	c.diags = diags
	if diags.HasErrors() {
		return c
	}
	c.root = install.Root{Dir: m.dir, Reqs: requirements(cfg, nil)}
	locks, diags := depsfile.Load(c.root.LockFile())
	c.root.Prev, c.diags = locks, c.diags.Append(diags)
	return c
}
