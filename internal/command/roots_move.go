package command

import (
	"context"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/carve"
	"tofu/internal/configs"
	"tofu/internal/fleet"
	"tofu/internal/rootmoves"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/states/statemgr"
	"tofu/internal/suggest"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
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
	dry      bool                                           // only show what would be moved
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

// preview shows which objects would move. It changes nothing.
func (m *rootMoves) preview(ctx context.Context) (*rootmoves.Outcome, error) {
	list, err := m.mover.Declared(ctx, m.selected)
	if err != nil || len(list) == 0 {
		return &rootmoves.Outcome{}, err
	}
	out, err := m.mover.Preview(ctx, list)
	if err == nil && out.Objects > 0 {
		m.app.Say("%s between root modules. Only their states change:", ui.Count(out.Objects, "object")+" will move")
		showMoves(m.app, recorded(out.Moves))
	}
	return out, err
}

// showMoves lists moves, one per line.
func showMoves(app *App, list []fleet.Move) {
	const most = 20
	for i := range list {
		if i == most {
			app.Say("  and %d more", len(list)-most)
			break
		}
		app.Say("  %s", list[i].String())
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

// recorded returns moves as saved plans record them.
func recorded(list []rootmoves.Move) []fleet.Move {
	var out []fleet.Move
	for i := range list {
		from, to := list[i].From, list[i].To
		out = append(out, fleet.Move{
			From: fleet.MoveEnd{Root: from.Name, State: from.State, Addr: list[i].Pair.From.String()},
			To:   fleet.MoveEnd{Root: to.Name, State: to.State, Addr: list[i].Pair.To.String()},
		})
	}
	return out
}

// carrySaved carries out the moves of a saved plan, as far as an earlier try has not done that.
func (m *rootMoves) carrySaved(ctx context.Context, saved *fleet.Saved) error {
	var list []rootmoves.Move
	for _, mv := range saved.Moves {
		one, err := rootmoves.Move{}, error(nil)
		if one.From, one.Pair.From, err = m.savedEnd(mv.From); err != nil {
			return err
		}
		if one.To, one.Pair.To, err = m.savedEnd(mv.To); err != nil {
			return err
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return nil
	}
	mover := *m.mover
	mover.Planned = true
	mover.Check = func(ctx context.Context, s *session.Session, r *roots.Root, after *states.State) error {
		return saved.CheckMoved(ctx, s, r.Name, after, mover.Vars)
	}
	out, err := mover.Carry(ctx, list)
	if err == nil && out.Objects > 0 {
		m.app.Say("Moved %s between root modules:", ui.Count(out.Objects, "object"))
		showMoves(m.app, recorded(out.Moves))
	}
	return err
}

// savedEnd returns one end of a move of a saved plan.
func (m *rootMoves) savedEnd(end fleet.MoveEnd) (*roots.Root, addrs.Target, error) {
	_, addr, err := addrs.ParseRootTargetText(end.Addr)
	r := m.mover.Estate.ByName(end.Root)
	switch {
	case err != nil:
		return nil, addr, tfdiags.Errorf("Failed to load the plan file", "The plan moves the invalid address %q: %s.", end.Addr, err)
	case r == nil || r.State != end.State:
		return nil, addr, tfdiags.Errorf("The plan is for other root modules", "It moves %s of the root module %s with the state %s, "+
			"which is not here. Nothing was changed. Apply the plan where it was made, or make a new one.", addr, end.Root,
			end.State.Show())
	}
	return r, addr, nil
}

var cmdRootsMove = &Command{
	Name: "move", Args: "[FROM TO]", Short: "Move objects from one root module to another",
	Long: `
Moves objects between the states of the root modules below the working
directory. An interrupted move is finished by the next command that locks one of
the states.

FROM and TO are addresses of resources, instances or modules, such as
'root["network"].aws_vpc.main'. The command moves the block with what it needs to
the other root module, makes outputs and terraform_remote_state data sources of
references between the two, writes a moved block in both, and moves the objects.
An instance, or what is in a module, moves only if its block is already written.

Without arguments, it carries out the moved blocks that have an address in
another root module:

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
	if len(args) != 0 && len(args) != 2 {
		return badUsage("No arguments or two are required", "\"tofu roots move\" takes the address of what moves and the one "+
			"where it moves, or no arguments: then it carries out moved blocks.")
	}
	e, err := loadEstate(ctx, app, nil)
	if e == nil || err != nil && !e.OnlyRootErrors(err) {
		return err
	}
	defer app.ShareClients()()
	m := newRootMoves(app, e, e.Roots, nil, f.Variables, f.LockOptions)
	m.dry = f.DryRun
	if len(args) == 2 {
		return m.write(ctx, args[0], args[1])
	}
	return m.carryDeclared(ctx)
}

func (m *rootMoves) carryDeclared(ctx context.Context) error {
	if m.dry {
		_, err := m.preview(ctx)
		return err
	}
	return m.carry(ctx)
}

// write moves what has the address from to the address to, with its block.
func (m *rootMoves) write(ctx context.Context, from, to string) error {
	mv := rootmoves.Move{}
	var err error
	if mv.From, mv.Pair.From, err = m.address(from); err != nil {
		return err
	}
	if mv.To, mv.Pair.To, err = m.address(to); err != nil {
		return err
	}
	switch {
	case mv.From == mv.To:
		return badUsage("Both addresses are in one root module", "To move within a root module, write a moved block or use "+
			"\"tofu state mv\".")
	case mv.From.Shared() || mv.To.Shared():
		return tfdiags.Errorf("Several root modules have this directory", "%s and %s can't be changed alone, as one of them shares "+
			"its directory with other root modules. Move the blocks yourself, write moved blocks, and run \"tofu roots move\".",
			mv.From.Name, mv.To.Name)
	}
	if err := m.checkOpposite(ctx, &mv); err != nil {
		return err
	}
	division, dirs, err := m.divide(ctx, &mv)
	if err != nil {
		return err
	}
	mover := *m.mover
	mover.Planned = division.Blocks
	out, err := mover.Preview(ctx, []rootmoves.Move{mv})
	switch {
	case err != nil:
		return err
	case out.Objects == 0:
		return tfdiags.Errorf("Nothing to move", "The state of %s has no objects at %s. \"tofu state list\" shows what it has.",
			mv.From.Name, mv.Pair.From)
	}
	m.app.Say("%s will move:", ui.Count(out.Objects, "object"))
	showMoves(m.app, recorded(out.Moves))
	m.showFiles(division, dirs)
	if m.dry {
		return nil
	}
	if err := rootmoves.Write(division.Division, mv.From.Name, dirs); err != nil {
		return err
	}
	m.app.Parser = configs.NewParser(nil) // the files have changed
	out, err = m.mover.Carry(ctx, []rootmoves.Move{mv})
	if err != nil {
		return tfdiags.Join(err, tfdiags.Errorf("The objects have not moved", "The files are written, and plans of both root "+
			"modules refuse to change what moves. After solving the problem, run \"tofu roots move\"."))
	}
	m.app.Say("\nMoved %s. Run \"tofu roots init\" if providers or data sources are new, and review \"tofu roots plan\".",
		ui.Count(out.Objects, "object"))
	return nil
}

// checkOpposite returns an error if a moved block says that what would move has moved the other way.
func (m *rootMoves) checkOpposite(ctx context.Context, mv *rootmoves.Move) error {
	list, err := m.mover.Declared(ctx, m.mover.Estate.Roots)
	for _, other := range list {
		if other.From == mv.To && other.Pair.From == mv.Pair.To || other.To == mv.From && other.Pair.To == mv.Pair.From {
			err = tfdiags.Join(err, tfdiags.Errorf("A moved block says otherwise", "%s, as this block says. Remove the block from "+
				"both root modules before %s moves.", other.String(), mv.Pair.From).At(other.Range))
		}
	}
	return err
}

// address parses the address of something in a root module.
func (m *rootMoves) address(text string) (*roots.Root, addrs.Target, error) {
	name, t, err := addrs.ParseRootTargetText(text)
	if err != nil {
		return nil, t, err
	}
	r := m.mover.Estate.ByName(name)
	switch {
	case name == "":
		return nil, t, badUsage("Which root module?", "Write the root module before the address, such as 'root[\"network\"].%s'.", t)
	case r == nil:
		return nil, t, tfdiags.Errorf("No such root module", "There is no root module %q.%s", name,
			suggest.DidYouMean(name, m.mover.Estate.Names()))
	case !t.IsModule() && t.Resource.Mode != addrs.Managed:
		return nil, t, tfdiags.Errorf("Only managed resources move", "%s has no objects that could move.", t)
	}
	return r, t, r.Err
}

// division lists what a move changes in files. Blocks says that it moves a block, too.
type division struct {
	*carve.Division
	Blocks bool
}

// divide returns the changes of files for a move, and the directories of the two root modules by name.
func (m *rootMoves) divide(ctx context.Context, mv *rootmoves.Move) (*division, map[string]string, error) {
	dirs := map[string]string{mv.From.Name: mv.From.Dir, mv.To.Name: mv.To.Dir}
	source, err := m.mover.Part(ctx, mv.From, mv.From.Dir)
	if err != nil {
		return nil, nil, err
	}
	target, err := m.mover.Part(ctx, mv.To, mv.From.Dir)
	if err != nil {
		return nil, nil, err
	}
	from, to := rootmoves.Item(mv.Pair.From), rootmoves.Item(mv.Pair.To)
	if from == "" || !source.Module.Has(from) {
		d, err := carve.OnlyMoved(source, target, mv.Pair.From.String(), mv.Pair.To.String())
		return &division{d, false}, dirs, err
	}
	if to == "" {
		return nil, nil, tfdiags.Errorf("The block can't be written", "%s is a block of %s, and %s is an instance or in a module, "+
			"for which no block can be made of it. Write the block in %s, remove that in %s, and run the command again.",
			from, mv.From.Name, mv.Pair.To, mv.To.Name, mv.From.Name)
	}
	st, err := m.mover.State(ctx, mv.From)
	if err != nil {
		return nil, nil, err
	}
	source.Sensitive = rootmoves.Sensitive(st)
	target.Sensitive = source.Sensitive
	d, err := source.Module.Divide(mv.From.Name, map[string]carve.Place{from: {Part: mv.To.Name, To: to}},
		map[string]*carve.Part{mv.From.Name: source, mv.To.Name: target})
	if err != nil {
		return nil, nil, err
	}
	for _, need := range d.Needs {
		if m.mover.Estate.Reaches(m.mover.Estate.ByName(need[1]), m.mover.Estate.ByName(need[0])) {
			return nil, nil, tfdiags.Errorf("Root modules would need each other", "After the move, %s would read outputs of %s, which "+
				"needs %[1]s already. Move what belongs together, or something else.", need[0], need[1])
		}
	}
	return &division{d, true}, dirs, nil
}

// showFiles shows which files change, and what the user has to look at.
func (m *rootMoves) showFiles(d *division, dirs map[string]string) {
	for _, part := range slices.Sorted(maps.Keys(d.Files)) {
		for _, name := range slices.Sorted(maps.Keys(d.Files[part])) {
			m.app.Say("  %s", filepath.Join(dirs[part], name))
		}
	}
	for _, note := range d.Notes {
		m.app.Say("Note: %s", note)
	}
}
