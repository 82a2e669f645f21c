package command

import (
	"context"
	"io"
	"slices"

	"tofu/internal/rootmoves"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states/statemgr"
	"tofu/internal/terminal"
	"tofu/internal/ui"
)

// finishMoves finishes interrupted moves between root modules; see [session.MoveFinisher].
func (a *App) finishMoves(
	ctx context.Context, s *session.Session, own func() (*session.OpenedState, error), records []statemgr.Operation,
) error {
	f := &rootmoves.Finisher{
		Load: func(ctx context.Context, dirs []string) (*roots.Estate, error) {
			return roots.Load(ctx, dirs, func(m session.RootModule) *session.Session {
				return a.Session.At(m, a.quiet(io.Discard))
			})
		},
		Open: a.silently,
	}
	return f.Finish(ctx, s, own, records)
}

// silently returns a session for a root module that prints nothing.
func (a *App) silently(r *roots.Root) *session.Session {
	return a.Session.At(r.Module(), a.quiet(io.Discard))
}

// rootMoves carries out moves between root modules.
type rootMoves struct {
	app      *App
	mover    *rootmoves.Mover
	selected []*roots.Root
	approve  func(context.Context, terminal.Question) error // nil to move without asking
}

// moves returns the moves in which selected root modules take part.
func (f *fleetFlags) moves(app *App, e *roots.Estate, selected []*roots.Root, dirs []string) *rootMoves {
	return newRootMoves(app, e, selected, dirs, f.Variables, f.LockOptions)
}

func newRootMoves(
	app *App, e *roots.Estate, selected []*roots.Root, dirs []string, vars session.Variables, lock session.LockOptions,
) *rootMoves {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	m := &rootmoves.Mover{Estate: e, Dirs: dirs, Open: app.silently, Vars: vars, Lock: lock}
	return &rootMoves{app: app, mover: m, selected: selected}
}

// declared returns the moves that blocks declare.
func (m *rootMoves) declared() ([]rootmoves.Move, error) {
	list, err := rootmoves.Declared(m.mover.Estate)
	return slices.DeleteFunc(list, func(mv rootmoves.Move) bool {
		return !slices.Contains(m.selected, mv.From) && !slices.Contains(m.selected, mv.To)
	}), err
}

// preview shows which objects would move. It changes nothing.
func (m *rootMoves) preview(ctx context.Context) (*rootmoves.Outcome, error) {
	list, err := m.declared()
	if err != nil || len(list) == 0 {
		return &rootmoves.Outcome{}, err
	}
	out, err := m.mover.Preview(ctx, list)
	if err == nil && out.Objects > 0 {
		m.app.Say("%s between root modules. Only their states change:", ui.Count(out.Objects, "object")+" will move")
		m.show(out)
	}
	return out, err
}

func (m *rootMoves) show(out *rootmoves.Outcome) {
	for i := range out.Moves {
		m.app.Say("  %s", out.Moves[i].String())
	}
}

// carry shows which objects move, asks, and moves them.
func (m *rootMoves) carry(ctx context.Context) error {
	out, err := m.preview(ctx)
	if err != nil || out.Objects == 0 {
		return err
	}
	if m.approve != nil {
		q := terminal.Question{Title: "Move " + ui.Count(out.Objects, "object") + " between the states?",
			Text: "Nothing is created, changed or destroyed."}
		if err := m.approve(ctx, q); err != nil {
			return err
		}
	}
	out, err = m.mover.Carry(ctx, out.Moves)
	if err != nil {
		return err
	}
	m.app.Say("\nMoved %s.", ui.Count(out.Objects, "object"))
	return nil
}

var cmdRootsMove = &Command{
	Name: "move", Args: "[FROM TO]", Short: "Move objects from one root module to another",
	Long: `
Moves objects between the states of root modules. An interrupted move is
finished by the next command that locks one of the states.

Without arguments, it carries out the moved blocks of the root modules below the
working directory in which one of the addresses is in another root module:

  moved {
    from = root["network"].aws_vpc.main
    to   = aws_vpc.main
  }`,
	New: with(func(f *rootsMoveFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		f.lockFlags.add(fs)
		fs.BoolVar(&f.DryRun, "dry-run", false, "Only show what would be moved.")
	}, runRootsMove),
}

type rootsMoveFlags struct {
	viewFlags
	varFlags
	lockFlags
	DryRun bool
}

func runRootsMove(ctx context.Context, app *App, f *rootsMoveFlags, args []string) error {
	e, err := loadEstate(ctx, app, nil)
	if e == nil || err != nil && !onlyRootErrors(e, err) {
		return err
	}
	defer app.ShareClients()()
	m := newRootMoves(app, e, e.Roots, nil, f.Variables, f.LockOptions)
	if f.DryRun {
		_, err := m.preview(ctx)
		return err
	}
	return m.carry(ctx)
}
