package rootmoves

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// records are the records of moves by their ID, as [statemgr.Manager.SaveMoving] takes them.
type records map[string][]statemgr.Operation

// carry carries out a step, as [statemgr.Moving] describes it.
func (m *Mover) carry(ctx context.Context, s *step) error {
	for _, p := range s.parts {
		arriving, err := records{}.add(p.id, p.arrive, statemgr.Arriving, m.peer(s.source, p.target.root))
		if err != nil {
			return err
		}
		if err := p.target.SaveMoving(ctx, p.before, arriving); err != nil {
			return err
		}
		if p.target.Snapshot.Lineage == "" { // the write has made the state
			if p.target.Snapshot, err = p.target.Read(ctx, tfdiags.Drop); err != nil {
				return err
			}
		}
	}
	leaving, gone := records{}, records{}
	for _, p := range s.parts {
		if _, err := leaving.add(p.id, p.leave, statemgr.Leaving, m.peer(p.target, s.source.root)); err != nil {
			return err
		}
		gone[p.id] = nil
	}
	if err := s.source.SaveMoving(ctx, s.after, leaving); err != nil {
		return err
	}
	for _, p := range s.parts {
		arrived, err := records{}.add(p.id, p.arrive, statemgr.Arrived, m.peer(s.source, p.target.root))
		if err != nil {
			return err
		}
		if err := p.target.SaveMoving(ctx, p.after, arrived); err != nil {
			return err
		}
	}
	if err := s.source.SaveMoving(ctx, s.after, gone); err != nil {
		return err
	}
	for _, p := range s.parts {
		if err := p.target.SaveMoving(ctx, p.after, records{p.id: nil}); err != nil {
			return err
		}
	}
	return nil
}

// add adds the records of objects.
func (r records) add(
	id string, objects []statemgr.ObjectOnTheWay, phase statemgr.MovingPhase, peer statemgr.Peer,
) (records, error) {
	for i := range objects {
		op, err := objects[i].Record(id, phase, peer)
		if err != nil {
			return nil, err
		}
		r[id] = append(r[id], op)
	}
	return r, nil
}

// wait is the time that a command that finishes a move waits at least for the lock of the other state, whose
// command may be finishing the same move.
const wait = 10 * time.Second

// A Finisher finishes interrupted moves.
type Finisher struct {
	// Load loads the estate below directories.
	Load func(ctx context.Context, dirs []string) (*roots.Estate, error)
	Open func(*roots.Root) *session.Session // the finisher closes it
}

// Finish finishes the moves in the records of a state, whose session is s. It undoes those that were not
// decided. own opens the state, with a lock.
func (f *Finisher) Finish(
	ctx context.Context, s *session.Session, own func() (*session.OpenedState, error), recorded []statemgr.Operation,
) error {
	type place struct{ root, dir string }
	seen := make(map[place]bool)
	for _, op := range recorded {
		peer := op.Moving.Peer
		if at := (place{peer.Root, peer.Dir}); !seen[at] {
			seen[at] = true
			if err := f.withPeer(ctx, s, own, &peer); err != nil {
				return err
			}
		}
	}
	return nil
}

// withPeer finishes the moves between a root module and another one.
func (f *Finisher) withPeer(
	ctx context.Context, s *session.Session, own func() (*session.OpenedState, error), peer *statemgr.Peer,
) error {
	root, err := f.find(ctx, s, peer)
	if err != nil {
		return err
	}
	other := f.Open(root)
	defer other.Close()
	here, err := own()
	if err != nil {
		return err
	}
	defer s.Release(here)
	// If the other state has no record, it is only read: another root module of this run may have its lock.
	lock := session.LockOptions{Lock: true, Timeout: wait}
	req := session.StateRequest{Moves: true, Lock: lock}
	there, err := other.OpenState(ctx, req)
	if err != nil {
		return err
	}
	if len(of(there.Manager, of(here.Manager, nil))) > 0 {
		req.Operation = operation
		if there, err = other.OpenState(ctx, req); err != nil {
			return err
		}
		defer s.Release(there)
	}
	if there.Snapshot.Lineage != peer.Lineage {
		return tfdiags.Errorf("An interrupted move can't be finished", "Objects are moving between this root module and %s, "+
			"but its state has another lineage, %q, than it had, %q. Restore that state, or select its workspace.",
			root.Name, there.Snapshot.Lineage, peer.Lineage)
	}
	n, err := finish(ctx, here.Manager, there.Manager)
	if err == nil && n > 0 {
		s.Warnings.Add(tfdiags.Warningf("Finished an interrupted move", "A move of %d objects between this root module and %s "+
			"was interrupted. It is finished now.", n, root.Name))
	}
	return err
}

// find returns the other root module of a move. s is the session of this one.
func (f *Finisher) find(ctx context.Context, s *session.Session, peer *statemgr.Peer) (*roots.Root, error) {
	local := func(rel string) string {
		path := filepath.Join(s.WorkDir, filepath.FromSlash(rel))
		if short, err := filepath.Rel(roots.Absolute("."), path); err == nil {
			path = short
		}
		return path
	}
	var dirs []string
	for _, dir := range peer.Estate {
		dirs = append(dirs, local(dir))
	}
	estate, err := f.Load(ctx, dirs)
	if estate == nil {
		return nil, err
	}
	var found []*roots.Root
	for _, r := range estate.Roots {
		if roots.Real(r.Dir) == roots.Real(local(peer.Dir)) {
			found = append(found, r)
		}
	}
	if i := slices.IndexFunc(found, func(r *roots.Root) bool { return r.Name == peer.Root }); i >= 0 {
		found = found[i : i+1]
	}
	if len(found) != 1 {
		return nil, tfdiags.Errorf("An interrupted move can't be finished", "Objects are moving between this root module and "+
			"%s in %s, which was not found. Run the command where both root modules are.", peer.Root, local(peer.Dir))
	}
	return found[0], found[0].Err
}

// of returns the records of a state by the ID of the move. If only is not nil, it leaves out other moves.
func of(st *statemgr.Manager, only records) records {
	out := records{}
	for _, op := range st.Moving() {
		if _, wanted := only[op.Moving.ID]; wanted || only == nil {
			out[op.Moving.ID] = append(out[op.Moving.ID], op)
		}
	}
	return out
}

// finish finishes or undoes the moves that the state here records and that may be recorded there, too. It
// returns the number of objects that have moved.
func finish(ctx context.Context, here, there *statemgr.Manager) (moved int, err error) {
	for id, mine := range of(here, nil) {
		theirs := of(there, records{id: nil})[id]
		source, target, leaving, arriving := here, there, mine, theirs
		if mine[0].Moving.Phase != statemgr.Leaving {
			source, target, leaving, arriving = there, here, theirs, mine
		}
		n, err := finishOne(ctx, id, source, target, leaving, arriving)
		if err != nil {
			return moved, fmt.Errorf("finishing an interrupted move: %w", err)
		}
		moved += n
	}
	return moved, nil
}

func finishOne(
	ctx context.Context, id string, source, target *statemgr.Manager, leaving, arriving []statemgr.Operation,
) (moved int, err error) {
	if len(leaving) == 0 { // not decided, or done
		return 0, target.SaveMoving(ctx, target.Current(), records{id: nil})
	}
	switch {
	case len(arriving) == 0:
		// Another program has written the target's state without its records.
		st := source.Current()
		if !statemgr.HasAny(target.Current(), leaving) {
			st = st.Clone()
			if err := statemgr.Arrive(st, leaving); err != nil {
				return 0, err
			}
		}
		return 0, source.SaveMoving(ctx, st, records{id: nil})
	case arriving[0].Moving.Phase == statemgr.Arriving:
		st := target.Current().Clone()
		if err := statemgr.Arrive(st, arriving); err != nil {
			return 0, err
		}
		for i := range arriving {
			done := *arriving[i].Moving
			done.Phase, done.Object = statemgr.Arrived, nil
			arriving[i].Moving = &done
		}
		if err := target.SaveMoving(ctx, st, records{id: arriving}); err != nil {
			return 0, err
		}
	}
	if err := source.SaveMoving(ctx, source.Current(), records{id: nil}); err != nil {
		return 0, err
	}
	return len(leaving), target.SaveMoving(ctx, target.Current(), records{id: nil})
}
