package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// MoveFinisher finishes interrupted moves of objects between the states of root modules. Its methods are
// safe for concurrent use, as several root modules of a run may find that they are at the ends of a move.
type MoveFinisher struct {
	// Finish finishes the moves in the records of a state, which is not locked. own opens it with a lock.
	Finish func(ctx context.Context, s *Session, own func() (*OpenedState, error), records []statemgr.Operation) error

	gate sync.RWMutex // held for reading while states are locked and read, and for writing by Finish
}

// readSettled is like read. If the state has records of moves and will be changed, it first finishes the
// moves. The states of those that can't be finished are not changed.
func (s *Session) readSettled(ctx context.Context, p *Location, req StateRequest) (*OpenedState, error) {
	for finished := false; ; finished = true {
		s.Moves.gate.RLock()
		open, err := s.read(ctx, p, req)
		s.Moves.gate.RUnlock()
		if err != nil {
			return nil, err
		}
		records := open.Moving()
		switch {
		case len(records) == 0:
			return open, nil
		case req.Operation == OperationRead || s.Moves.Finish == nil:
			s.Warnings.Add(tfdiags.Warningf("Objects are moving", "A move of these objects between this root module and %s "+
				"was interrupted, so this state may not have them. The next command that locks the state finishes the "+
				"move:\n  - %s", records[0].Moving.Peer.Root, moving(records)))
			return open, nil
		}
		if err := open.Close(); err != nil {
			return nil, err
		}
		if finished {
			return nil, tfdiags.Errorf("An interrupted move can't be finished", "These objects are moving between this root "+
				"module and %s:\n  - %s", records[0].Moving.Peer.Root, moving(records))
		}
		s.Moves.gate.Lock()
		err = s.Moves.Finish(ctx, s, func() (*OpenedState, error) {
			own := req
			own.Moves, own.Operation, own.Lock.Lock = true, OperationApply, true
			own.Lock.Timeout = max(own.Lock.Timeout, 10*time.Second) // the other side may be doing the same
			return s.read(ctx, p, own)
		}, records)
		s.Moves.gate.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// moving lists the objects in records of moves, one per line.
func moving(records []statemgr.Operation) string {
	names := make([]string, len(records))
	for i, op := range records {
		names[i] = op.Addr.String()
	}
	return strings.Join(names, "\n  - ")
}

// EstateMoves has what a run over an estate knows about the moves between its root modules.
type EstateMoves struct {
	// Prior is the state of the root module after moves that a plan shows and that are not carried out; nil
	// if there are none.
	Prior *states.State
}

// StateSum returns a checksum of the contents of a state. States that differ only in serial and lineage have the
// same one.
func StateSum(st *states.State) (string, error) {
	text, err := statefile.Encode(&statefile.File{State: st}, nil)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// checkMoves returns an error if moves between this root module and others are still to be carried out: a plan
// would destroy what leaves, and create again what arrives. Only a run over an estate knows whether objects
// arrive, as their source decides.
func (op *Operation) checkMoves() error {
	list := op.Config.Module.RootMoves
	if len(list) == 0 {
		return nil
	}
	var errs tfdiags.Diagnostics
	holds, reported := op.State.State().Holds(), map[hcl.Range]bool{}
	for _, m := range list {
		if reported[m.Range] { // another element of for_each
			continue
		}
		own := m.To
		if m.Leaves {
			own = m.From
		}
		present, before := holds(own), len(errs)
		switch {
		case m.Leaves && present:
			errs.Add(tfdiags.Errorf("Objects are to move to another root module", "%s is to move to the root module %s, but it is "+
				"still in the state of this one. Run \"tofu roots apply\" or \"tofu roots move\" above both, which move "+
				"it.", own, m.Root).At(m.Range))
		case !m.Leaves && !present && op.Session.Estate == nil:
			errs.Add(tfdiags.Errorf("Objects may have to move here", "%s is to move here from the root module %s, and this state "+
				"doesn't have it. Only a run over both root modules knows whether it exists there: use \"tofu roots plan\" and "+
				"\"tofu roots apply\", or remove the moved block.", own, m.Root).At(m.Range))
		}
		reported[m.Range] = len(errs) > before
	}
	return errs.Err()
}
