package warm

import (
	"context"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/fleet"
	"tofu/internal/plans"
	"tofu/internal/rootmoves"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// Estate holds the root modules below some directories. A root module of an estate is planned as `tofu roots plan`
// plans it: root modules that need others see their planned outputs. It is safe for concurrent use.
type Estate struct {
	core *Core
	dirs []string
	read reading

	mu     sync.Mutex
	opts   Options
	own    map[string]Options // of root modules that were opened singly since, by name
	loaded *roots.Estate
}

// reading reads the root modules below some directories again and again. It is safe for concurrent use.
type reading struct {
	mu    sync.Mutex
	cache *roots.Cache
}

// load returns the root modules at a moment. It searches the directories, but reads only what has changed since
// the last time.
func (r *reading) load(ctx context.Context, c *Core, dirs []string, at moment) (*roots.Estate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	base := c.base(c.processAt(at))
	if r.cache == nil {
		r.cache = roots.NewCache(base.Environ)
	}
	cache := r.cache.Again(at.texts)
	loaded, err := roots.LoadCached(ctx, dirs, cache,
		func(m session.RootModule) *session.Session { return c.session(base, m, nil) })
	if loaded != nil && ctx.Err() == nil {
		r.cache = cache
	}
	return loaded, err
}

// OpenEstate opens all root modules below a directory, as `tofu roots` finds them. The error is that of
// single root modules, or says why there are none.
func (c *Core) OpenEstate(ctx context.Context, dir string, opts Options) (*Estate, error) {
	return c.openEstate(ctx, []string{dir}, opts)
}

func (c *Core) openEstate(ctx context.Context, dirs []string, opts Options) (*Estate, error) {
	below := make([]string, len(dirs))
	for i, dir := range dirs {
		var err error
		if below[i], err = c.relative(dir); err != nil {
			return nil, err
		}
	}
	key := strings.Join(below, "\x00")
	c.mu.Lock()
	e := c.estates[key]
	if e == nil {
		e = &Estate{core: c, dirs: below}
		c.estates[key] = e
	}
	c.mu.Unlock()
	e.mu.Lock()
	e.opts, e.own = opts, map[string]Options{}
	e.mu.Unlock()
	loaded, err := e.load(ctx, c.current())
	if loaded == nil {
		return nil, err
	}
	return e, err
}

// Modules returns the root modules that can be read.
func (e *Estate) Modules() (out []*Module) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.loaded == nil {
		return nil
	}
	for _, r := range e.loaded.Roots {
		if r.Err == nil {
			out = append(out, e.module(r))
		}
	}
	return out
}

// module returns a root module of the estate. The caller holds e.mu.
func (e *Estate) module(r *roots.Root) *Module {
	opts, single := e.own[r.Name]
	if !single {
		opts = e.opts
	}
	m := e.core.open(r.Name, r.Module(), opts)
	m.mu.Lock()
	m.estate = e
	m.mu.Unlock()
	return m
}

// load returns the root modules at a moment.
func (e *Estate) load(ctx context.Context, at moment) (*roots.Estate, error) {
	loaded, err := e.read.load(ctx, e.core, e.dirs, at)
	if loaded == nil || ctx.Err() != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.loaded = loaded
	for _, r := range loaded.Roots {
		e.module(r)
	}
	return loaded, err
}

// Layout says which root modules use which directories, and which of them read the outputs of which others.
// All directories are absolute.
type Layout struct {
	Modules map[string]*Module // root modules by their directories
	// Readers has the directories of root modules by that of a root module whose outputs they read.
	Readers map[string][]string
	Users   map[string][]string // root modules by the directory of a module that they use
	// Remote has, by root module, the root modules whose outputs its terraform_remote_state data sources
	// read, by their names.
	Remote map[string]map[string]string
}

// Layout opens an estate of the root modules below some directories, and returns its layout, or nil if it can't
// be found out.
func (c *Core) Layout(ctx context.Context, dirs []string, opts Options) *Layout {
	e, _ := c.openEstate(ctx, dirs, opts) // errors are those of other questions
	if e == nil || ctx.Err() != nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	abs := func(dir string) string { return filepath.Join(c.workDir, dir) }
	out := &Layout{Modules: map[string]*Module{}, Readers: map[string][]string{}, Users: map[string][]string{},
		Remote: map[string]map[string]string{}}
	for _, r := range e.loaded.Roots {
		if out.Modules[abs(r.Dir)] == nil {
			out.Modules[abs(r.Dir)] = e.module(r)
		}
		for _, dir := range r.Directories() {
			out.Users[abs(dir)] = append(out.Users[abs(dir)], abs(r.Dir))
		}
		for _, read := range r.Reads {
			if read.Root != nil {
				out.Readers[abs(read.Root.Dir)] = append(out.Readers[abs(read.Root.Dir)], abs(r.Dir))
			}
		}
		out.Remote[abs(r.Dir)] = map[string]string{}
		for name, other := range remote(r) {
			out.Remote[abs(r.Dir)][name] = abs(other.Dir)
		}
	}
	return out
}

// remote returns the root modules whose outputs the terraform_remote_state data sources of a root module read,
// by their names.
func remote(r *roots.Root) map[string]*roots.Root {
	out := map[string]*roots.Root{}
	for _, read := range r.Reads {
		data, err := addrs.ParseInstanceText(read.User)
		if read.Kind == roots.RemoteState && read.Root != nil && err == nil && data.Module.IsRoot() {
			out[data.Resource.Name] = read.Root
		}
	}
	return out
}

// Find returns the root module with a name that is opened or belongs to an opened estate, in which it may be
// new. It returns nil if no root module has the name.
func (c *Core) Find(ctx context.Context, name string) *Module {
	if m := c.Module(name); m != nil {
		return m
	}
	c.mu.Lock()
	estates := slices.Collect(maps.Values(c.estates))
	c.mu.Unlock()
	for _, e := range estates {
		_, _ = e.load(ctx, c.current()) // without the root module if there are errors
	}
	return c.Module(name)
}

// run returns a run over the root modules at a moment, and the root module with a name.
func (e *Estate) run(ctx context.Context, at moment, name string) (*fleet.Run, *roots.Root, error) {
	loaded, err := e.load(ctx, at)
	if loaded == nil || !loaded.OnlyRootErrors(err) {
		return nil, nil, err
	}
	r := loaded.ByName(name)
	if r == nil {
		return nil, nil, tfdiags.Errorf("No such root module", "There is no root module %q below %s any more.", name,
			strings.Join(e.dirs, ", "))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return &fleet.Run{Session: e.core.base(e.core.processAt(at)), Estate: loaded,
		Options: session.OperationOptions{Variables: e.opts.Variables},
		Printer: func(*roots.Root, io.Writer) ui.Printer { return silent{} }}, r, r.Err
}

// alone returns a root module that sees the outputs that the states of others have, as `tofu roots apply`
// applies its saved plan.
func (e *Estate) alone(ctx context.Context, at moment, name string, mode plans.Mode) (*fleet.Member, error) {
	run, r, err := e.run(ctx, at, name)
	if err != nil {
		return nil, err
	}
	return run.Alone(r, mode), nil
}

// plan plans a root module and those that it needs, as `tofu roots plan` plans all of them. The plan is
// nil if it failed or was not begun for another reason than those of its own diagnostics.
func (e *Estate) plan(ctx context.Context, at moment, m *Module, opts PlanOptions) (out *Plan, err error) {
	run, r, err := e.run(ctx, at, m.name)
	if err != nil {
		return nil, err
	}
	for _, needed := range run.Estate.Roots {
		if run.Estate.Reaches(r, needed) {
			run.Selected = append(run.Selected, needed)
		}
	}
	if err := e.previewMoves(ctx, run); err != nil {
		return nil, err
	}
	for _, result := range run.PlanEach(ctx, opts.Mode, run.Estate.Roots, func(ctx context.Context, member *fleet.Member) error {
		of, with := m, opts
		if member.Root != r {
			e.mu.Lock()
			of, with = e.module(member.Root), PlanOptions{Mode: opts.Mode, Refresh: opts.Refresh}
			e.mu.Unlock()
		}
		p, err := of.plan(ctx, at, with, member)
		if err != nil {
			return err
		}
		if of == m {
			out = p
		}
		return p.Diagnostics.Err()
	}) {
		if result.Root == r && result.Skipped {
			err = tfdiags.Errorf("The root module was not planned", "%s was not planned, because %s.", r.Name, result.Why)
		}
	}
	return out, err
}

// previewMoves makes the run plan with what moved blocks will move between its root modules.
func (e *Estate) previewMoves(ctx context.Context, run *fleet.Run) error {
	mover := &rootmoves.Mover{Estate: run.Estate, Dirs: e.dirs, Vars: run.Options.Variables,
		Open: func(r *roots.Root) *session.Session { return e.core.session(run.Session, r.Module(), nil) }}
	declared, err := mover.Declared(ctx, run.Selected)
	if err != nil || len(declared) == 0 {
		return err
	}
	moved, err := mover.Preview(ctx, declared)
	if err == nil {
		run.Moved = moved.States
	}
	return err
}
