package rootmoves

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/moves"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// operation names moves in the information about locks.
const operation = "roots-move"

// Mover moves objects between the root modules of an estate.
type Mover struct {
	Estate *roots.Estate
	Dirs   []string // the directories below which the estate was found
	// Open returns a session for a root module. The mover closes it.
	Open func(*roots.Root) *session.Session
	Vars session.Variables
	Lock session.LockOptions
	// Planned says that the blocks of what moves are not checked: they are still to be moved, or a plan has them.
	Planned bool
	// Check, if not nil, decides whether the state of a root module may change to another one. Nothing moves unless it
	// returns nil for all.
	Check func(ctx context.Context, s *session.Session, r *roots.Root, after *states.State) error
}

// end is the state of a root module at one end of moves.
type end struct {
	root    *roots.Root
	session *session.Session
	*session.OpenedState
	now    *states.State   // the state after the steps so far
	module *configs.Config // the root module, without the modules that it calls; see config
}

// Outcome lists what moves change.
type Outcome struct {
	Moves   []Move // those with objects that move
	Objects int    // the number of objects that move
	States  map[*roots.Root]*states.State
	steps   []*step
}

// step is the part of an outcome that is decided by one write: everything that leaves one root module.
type step struct {
	source *end
	after  *states.State // of the source
	parts  []*part
}

// part is the part of a step that goes to one target.
type part struct {
	id     string
	target *end
	before *states.State // of the target
	after  *states.State
	was    map[addrs.AbsInstance]addrs.AbsInstance // addresses in the source by those in the target
	leave  []statemgr.ObjectOnTheWay               // by their addresses in the source
	arrive []statemgr.ObjectOnTheWay
}

// Preview returns what the moves change, without changing anything. It reads the states of their root
// modules without locks.
func (m *Mover) Preview(ctx context.Context, list []Move) (*Outcome, error) {
	return m.with(ctx, list, session.OperationRead, func(*Outcome) error { return nil })
}

// Carry moves the objects. It returns what has changed. A move that has begun is finished, even if ctx ends.
func (m *Mover) Carry(ctx context.Context, list []Move) (*Outcome, error) {
	return m.with(ctx, list, operation, func(out *Outcome) error {
		for _, s := range out.steps {
			if err := m.carry(context.WithoutCancel(ctx), s); err != nil {
				return err
			}
		}
		return nil
	})
}

// with opens the states at the ends of the moves and computes what they change. do carries that out.
func (m *Mover) with(ctx context.Context, list []Move, operation string, do func(*Outcome) error) (out *Outcome, err error) {
	ends := make(map[*roots.Root]*end)
	defer func() {
		for _, e := range ends {
			if e.OpenedState != nil {
				err = tfdiags.Join(err, e.Close())
			}
			e.session.Close()
		}
	}()
	for _, mv := range list {
		for _, r := range []*roots.Root{mv.From, mv.To} {
			if r.Err != nil {
				return nil, r.Err
			}
			if ends[r] == nil {
				ends[r] = &end{root: r, session: m.Open(r)}
			}
		}
	}
	for _, e := range sorted(ends) { // in one order, so that two commands don't wait for one another
		if e.OpenedState, err = m.open(ctx, e, operation); err != nil {
			return nil, err
		}
		e.now = e.State()
	}
	out, err = m.outcome(ctx, list, ends)
	if err != nil || len(out.Moves) == 0 {
		return out, err
	}
	for _, e := range sorted(ends) {
		if m.Check != nil && out.States[e.root] != nil {
			err = tfdiags.Join(err, m.Check(ctx, e.session, e.root, e.now))
		}
	}
	if err != nil {
		return nil, err
	}
	return out, do(out)
}

// open opens the state at an end. If the state has records of an interrupted move, it finishes that first.
func (m *Mover) open(ctx context.Context, e *end, name string) (*session.OpenedState, error) {
	req := session.StateRequest{Vars: m.Vars, Lock: m.Lock, Operation: name}
	open, err := e.session.OpenState(ctx, req)
	if err != nil || len(open.Moving()) == 0 {
		return open, err
	}
	e.session.Warnings.Take() // it says that the move is interrupted
	locked := req
	locked.Operation = operation
	if open, err = e.session.OpenState(ctx, locked); err != nil {
		return nil, err
	}
	if err := open.Close(); err != nil {
		return nil, err
	}
	return e.session.OpenState(ctx, req)
}

func sorted(ends map[*roots.Root]*end) []*end {
	out := make([]*end, 0, len(ends))
	for _, e := range ends {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b *end) int { return cmp.Compare(a.root.Name, b.root.Name) })
	return out
}

// outcome computes what the moves change, and checks them: a move needs objects at its beginning, which no
// block there declares, and none at its end, where a block declares them.
func (m *Mover) outcome(ctx context.Context, list []Move, ends map[*roots.Root]*end) (*Outcome, error) {
	out := &Outcome{States: make(map[*roots.Root]*states.State)}
	targets := make(map[*end]map[*end][]moves.Pair) // by source
	var errs tfdiags.Groups
	holds := make(map[*end]func(addrs.Target) bool)
	for _, e := range ends {
		holds[e] = e.State().Holds()
	}
	for _, mv := range list {
		from, to := ends[mv.From], ends[mv.To]
		if !holds[from](mv.Pair.From) {
			continue
		}
		if holds[to](mv.Pair.To) {
			errs.Add(at(tfdiags.Errorf("The target of a move exists", "%s can't move: both states have objects at these "+
				"addresses. Move one of them away with \"tofu state mv\", or remove the moved block.", &mv), &mv), mv.String())
			continue
		}
		if !m.Planned {
			if err := checkBlocks(ctx, &mv, from, to, &errs); err != nil {
				return nil, tfdiags.Join(errs.Err(), err)
			}
		}
		if targets[from] == nil {
			targets[from] = make(map[*end][]moves.Pair)
		}
		targets[from][to], out.Moves = append(targets[from][to], mv.Pair), append(out.Moves, mv)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	for _, source := range sorted(ends) {
		if targets[source] != nil {
			s, err := newStep(source, targets[source])
			if err != nil {
				return nil, err
			}
			out.steps = append(out.steps, s)
			out.States[source.root] = source.now
			for _, p := range s.parts {
				if !m.Planned {
					if err := p.checkKeys(ctx, out.Moves, source.root, &errs); err != nil {
						return nil, err
					}
				}
				out.States[p.target.root] = p.target.now
				out.Objects += len(p.leave)
			}
		}
	}
	return out, errs.Err()
}

// checkKeys adds an error for each move to keys that blocks in the target can't have.
func (p *part) checkKeys(ctx context.Context, list []Move, source *roots.Root, errs *tfdiags.Groups) error {
	cfg, err := p.target.config(ctx)
	if err != nil {
		return err
	}
	byTarget := make(map[string]*Move)
	for i := range list {
		if mv := &list[i]; mv.From == source && mv.To == p.target.root {
			byTarget[mv.Pair.To.String()] = mv
		}
	}
	for _, now := range slices.SortedFunc(maps.Keys(p.was), addrs.AbsInstance.Compare) {
		why := moves.Misplaced(cfg, now, 0)
		if why == "" {
			continue
		}
		for _, text := range states.Around(now) {
			if mv := byTarget[text]; mv != nil {
				errs.Add(at(tfdiags.Errorf("Moved to an address without an object", "%s moves to %s in %s, but %s Otherwise the "+
					"object would be destroyed and another one created.", p.was[now], now, mv.To.Name, why), mv), mv.String())
				delete(byTarget, text) // one error for each move
			}
		}
	}
	return nil
}

// newStep computes what moves from one root module to others change.
func newStep(source *end, targets map[*end][]moves.Pair) (*step, error) {
	s := &step{source: source}
	byRoot := make(map[*roots.Root]*end)
	for target := range targets {
		byRoot[target.root] = target
	}
	for _, target := range sorted(byRoot) {
		p := &part{id: uuid.NewString(), target: target, before: target.now, after: target.now.Clone()}
		before := source.now
		source.now = before.Clone()
		var err error
		if p.was, err = moves.Transfer(source.now, p.after, targets[target]); err != nil {
			return nil, err
		}
		target.now = p.after
		p.leave, p.arrive = statemgr.Between(before, source.now), statemgr.Between(p.after, p.before)
		if err := errors.Join(settled(source, p.leave), settled(target, p.arrive)); err != nil {
			return nil, err
		}
		s.parts = append(s.parts, p)
	}
	s.after = source.now
	return s, nil
}

// settled returns an error if an earlier run has left one of the objects in doubt.
func settled(e *end, objects []statemgr.ObjectOnTheWay) error {
	doubts := make(map[statemgr.ObjectID]bool)
	for _, op := range e.Snapshot.Interrupted { // moves are finished
		doubts[statemgr.ObjectID{Addr: op.Addr, Deposed: op.Deposed}] = true
	}
	for _, o := range objects {
		if doubts[o.ObjectID] {
			return tfdiags.Errorf("A moving object is in doubt", "An earlier run in the root module %s was interrupted while it "+
				"changed %s, so it is not known what became of the object. Apply there first, or settle it with \"tofu state "+
				"rm -in-doubt\".", e.root.Name, o.Addr)
		}
	}
	return nil
}

// checkBlocks adds an error if the source of a move still declares what moves, or if the target doesn't.
// It returns an error if one of the root modules can't be loaded.
func checkBlocks(ctx context.Context, mv *Move, from, to *end, errs *tfdiags.Groups) error {
	cfg, err := from.config(ctx)
	if err != nil {
		return err
	}
	if whole := mv.Pair.From; declares(cfg, whole) && !keyed(whole) {
		errs.Add(at(tfdiags.Errorf("Moved object still exists", "%s moves, but the root module %s still declares %s. Remove "+
			"its block there, or the moved block.", mv, mv.From.Name, whole), mv), mv.String())
		return nil
	}
	if cfg, err = to.config(ctx); err != nil {
		return err
	}
	if !declares(cfg, mv.Pair.To) {
		errs.Add(at(tfdiags.Errorf("The target of a move is not declared", "%s moves, but the root module %s doesn't declare %s, "+
			"so the next apply would destroy it. Write its block there.", mv, mv.To.Name, mv.Pair.To), mv), mv.String())
	}
	return nil
}

func at(d tfdiags.Diagnostic, mv *Move) tfdiags.Diagnostic {
	if mv.Range.Filename == "" {
		return d
	}
	return d.At(mv.Range)
}

// config returns the root module at the end.
func (e *end) config(ctx context.Context) (*configs.Config, error) {
	if e.module == nil {
		cfg, err := e.session.LoadRootModule(ctx, session.Variables{})
		if err != nil {
			return nil, err
		}
		e.module = cfg.Config
	}
	return e.module, nil
}

// declares reports whether a root module has the block of a resource, or of the outermost module around it.
func declares(cfg *configs.Config, t addrs.Target) bool {
	m := cfg.Module
	if steps := t.Module.Steps(); len(steps) > 0 {
		return m.Calls[steps[0].Name] != nil
	}
	return m.Resources[t.Resource] != nil
}

// keyed reports whether the target is a part of what a block declares: an instance, or something within a
// module.
func keyed(t addrs.Target) bool {
	steps := t.Module.Steps()
	return t.HasKey || len(steps) > 0 && (!t.IsModule() || len(steps) > 1 || steps[0].Key != addrs.NoKey)
}

// peer returns what the state of one root module records about another one.
func (m *Mover) peer(of *end, in *roots.Root) statemgr.Peer {
	rel := func(dir string) string {
		path, err := filepath.Rel(roots.Absolute(in.Dir), roots.Absolute(dir))
		if err != nil {
			path = roots.Absolute(dir)
		}
		return filepath.ToSlash(path)
	}
	p := statemgr.Peer{Root: of.root.Name, Dir: rel(of.root.Dir), Lineage: of.Snapshot.Lineage}
	for _, dir := range m.Dirs {
		p.Estate = append(p.Estate, rel(dir))
	}
	return p
}
