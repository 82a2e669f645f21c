package command

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/getmodules"
	"tofu/internal/moduletest"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

// findRoots returns the root modules below some directories that require providers: those that a
// roots.tofu.hcl declares, and those that no other module calls by a relative path. broken holds
// the directories of modules that can't be loaded. unsure is a warning about directories that may
// be modules of others. remark is called with the progress, from several goroutines.
func findRoots(
	ctx context.Context, dirs []string, shared *getmodules.Shared, remark func(string),
) (found []install.Root, broken []string, unsure tfdiags.Diagnostics, err error) {
	parser := configs.NewParser(nil) // parses a module that several roots share only once
	modules, unread, dirsErr := roots.Modules(dirs, parser)
	candidates := make([]candidate, len(modules))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	var read atomic.Int32
	for i, m := range modules {
		group.Go(func() error {
			candidates[i] = readCandidate(ctx, parser, shared, m)
			remark(fmt.Sprintf("%d of %d modules read", read.Add(1), len(modules)))
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, nil, tfdiags.Join(dirsErr, err)
	}
	var callers roots.Callers
	callers.AddUnread(unread)
	for i, c := range candidates {
		callers.Add(&modules[i], c.calls)
	}
	var errs []error
	for i, c := range candidates {
		if !callers.IsRoot(&modules[i], c.hasOwn, c.err != nil) {
			continue
		}
		switch {
		case c.err != nil:
			broken, errs = append(broken, modules[i].Dir), append(errs, c.err)
		case len(c.root.Reqs) > 0 || modules[i].Locked:
			found = append(found, c.root)
		}
	}
	return found, broken, callers.Unsure(), tfdiags.Join(dirsErr, joinByDir(broken, errs))
}

// candidate is a module that may be a root module.
type candidate struct {
	root   install.Root
	calls  roots.Calls
	hasOwn bool // see roots.HasOwn
	err    error
}

// readCandidate loads a module and all modules that it calls. It drops warnings, because the
// command does not check the configuration.
func readCandidate(ctx context.Context, parser *configs.Parser, shared *getmodules.Shared,
	m roots.Directory) candidate {
	var c candidate
	find, err := shared.Resolver(m.Dir)
	if err != nil {
		c.calls, c.err = roots.CallsOf(parser, m.Dir), err
		return c
	}
	var resolved []string
	resolve := func(ctx context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
		found, err := find(ctx, req)
		if req.Source.Kind == addrs.LocalModule {
			resolved = append(resolved, found.Dir)
		}
		return found, err
	}
	opts := &configs.LoadOptions{Parser: parser, Resolve: resolve, WorkDir: m.Dir, Workspace: "default"}
	cfg, err := configs.LoadRoot(ctx, m.Dir, opts, tfdiags.Drop)
	var suite *moduletest.Suite
	if err == nil {
		suite, err = moduletest.Load(ctx, cfg, configs.DefaultTestDirectory, opts, tfdiags.Drop)
	}
	if err != nil {
		c.calls = roots.CallsOf(parser, m.Dir)
	}
	c.calls.Dirs = append(c.calls.Dirs, resolved...)
	if err == nil {
		c.calls.AddTests(parser, cfg)
	}
	if cfg != nil {
		c.hasOwn = roots.HasOwn(cfg.Module, filepath.Join(m.Dir, ".terraform"))
	}
	if err != nil {
		c.err = err
		return c
	}
	c.root = install.Root{Dir: m.Dir, Reqs: depsfile.Requirements{}}
	session.AddTestRequirements(c.root.Reqs, suite)
	c.root.Prev, c.err = depsfile.Load(c.root.LockFile(), tfdiags.Drop)
	return c
}
