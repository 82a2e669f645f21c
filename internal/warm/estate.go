package warm

import (
	"context"
	"io"
	"sync"

	"tofu/internal/fleet"
	"tofu/internal/plans"
	"tofu/internal/rootmoves"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// Estate holds the root modules below a directory. A root module of an estate is planned as `tofu roots plan`
// plans it: root modules that need others see their planned outputs. It is safe for concurrent use.
type Estate struct {
	core *Core
	dir  string

	mu     sync.Mutex
	opts   Options
	at     moment
	loaded *roots.Estate
	err    error
}

// OpenEstate opens all root modules below a directory, as `tofu roots` finds them. The error is that of
// single root modules, or says why there are none.
func (c *Core) OpenEstate(ctx context.Context, dir string, opts Options) (*Estate, error) {
	rel, err := c.relative(dir)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	e := c.estates[rel]
	if e == nil {
		e = &Estate{core: c, dir: rel}
		c.estates[rel] = e
	}
	c.mu.Unlock()
	e.mu.Lock()
	e.opts, e.loaded = opts, nil // the options decide what root modules are, and new directories are looked for
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
	m := e.core.open(r.Name, r.Module(), e.opts)
	m.mu.Lock()
	m.estate = e
	m.mu.Unlock()
	return m
}

// load returns the root modules at a moment. As long as no file changes, they are not searched again.
func (e *Estate) load(ctx context.Context, at moment) (*roots.Estate, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.loaded != nil && e.at == at {
		return e.loaded, e.err
	}
	loaded, err := e.core.loadEstate(ctx, []string{e.dir}, at)
	if loaded == nil || ctx.Err() != nil {
		return nil, err
	}
	e.at, e.loaded, e.err = at, loaded, err
	for _, r := range loaded.Roots {
		e.module(r)
	}
	return loaded, err
}

func (c *Core) loadEstate(ctx context.Context, dirs []string, at moment) (*roots.Estate, error) {
	base := c.base(c.processAt(at))
	return roots.Load(ctx, dirs, func(m session.RootModule) *session.Session { return c.session(base, m, nil) })
}

// run returns a run over the root modules at a moment, and the root module with a name.
func (e *Estate) run(ctx context.Context, at moment, name string) (*fleet.Run, *roots.Root, error) {
	loaded, err := e.load(ctx, at)
	if loaded == nil || !loaded.OnlyRootErrors(err) {
		return nil, nil, err
	}
	r := loaded.ByName(name)
	if r == nil {
		return nil, nil, tfdiags.Errorf("No such root module", "There is no root module %q below %s any more.", name, e.dir)
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
	mover := &rootmoves.Mover{Estate: run.Estate, Dirs: []string{e.dir}, Vars: run.Options.Variables,
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
