package command

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/getmodules"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

// findRoots returns the root modules below some directories that require providers. A module is
// a root module if it has a lock file, or if no other module below the directories calls it by
// a relative path. broken holds the directories of modules that can't be loaded. remark is
// called with the progress, from several goroutines.
func findRoots(
	ctx context.Context, dirs []string, shared *getmodules.Shared, remark func(string),
) (found []install.Root, broken []string, err error) {
	modules, dirsErr := roots.Directories(dirs)
	parser := configs.NewParser(nil) // parses a module that several roots share only once
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
		return nil, nil, tfdiags.Join(dirsErr, err)
	}
	called := make(map[string]bool)
	for _, c := range candidates {
		for _, dir := range c.calls {
			called[roots.Real(dir)] = true
		}
	}
	var errs []error
	for i, c := range candidates {
		if called[modules[i].Real] && !modules[i].Locked {
			continue
		}
		switch {
		case c.err != nil:
			broken, errs = append(broken, modules[i].Dir), append(errs, c.err)
		case len(c.root.Reqs) > 0 || modules[i].Locked:
			found = append(found, c.root)
		}
	}
	return found, broken, tfdiags.Join(dirsErr, joinByDir(broken, errs))
}

// candidate is a module that may be a root module.
type candidate struct {
	root  install.Root
	calls []string // local directories of the modules that it calls
	err   error
}

// readCandidate loads a module and all modules that it calls. It drops warnings, because the
// command does not check the configuration.
func readCandidate(ctx context.Context, parser *configs.Parser, shared *getmodules.Shared,
	m roots.Directory) candidate {
	var c candidate
	find, err := shared.Resolver(m.Dir)
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
	cfg, err := configs.LoadRoot(ctx, m.Dir, &configs.LoadOptions{Parser: parser, Resolve: resolve,
		WorkDir: m.Dir, Workspace: "default"}, tfdiags.Drop)
	if err != nil {
		c.err = err
		return c
	}
	c.root = install.Root{Dir: m.Dir, Reqs: session.Requirements(cfg, nil)}
	c.root.Prev, c.err = depsfile.Load(c.root.LockFile(), tfdiags.Drop)
	return c
}
