package session

import (
	"context"

	"tofu/internal/backend/postgres"
	"tofu/internal/engine"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

// Historian returns the history of the states at a location. If the store keeps no history, it
// returns an error.
func (p *Location) Historian() (statemgr.Historian, error) {
	h, ok := p.Store.(statemgr.Historian)
	switch {
	case ok:
		return h, nil
	case p.Settings == nil:
		return nil, tfdiags.Errorf("The state has no history", "A state file has no history. The backend "+
			"\"postgres\" keeps one.")
	}
	return nil, tfdiags.Errorf("The state has no history", "The state is in the backend %q, and only the backend "+
		"\"postgres\" keeps a history.", p.Settings.Driver.Name)
}

// History opens the history of the state from which the plan was created. It returns nil if the
// backend keeps no history.
func (p *SavedPlan) History(ctx context.Context, s *Session) (statemgr.Historian, error) {
	if p.Backend.Type != postgres.Driver.Name {
		return nil, nil
	}
	at, err := p.location(ctx, s, StateRequest{LazyKeys: true})
	if err != nil {
		return nil, err
	}
	return at.Historian()
}

// ReadAt reads an earlier version of the state at the location. text is a time, or the start of a
// run's ID, which selects the state at the end of that run. The result can't be changed.
func (p *Location) ReadAt(ctx context.Context, s *Session, text string) (*OpenedState, error) {
	_, _, loaded, err := p.stateAt(ctx, s.Timings, text)
	if err != nil {
		return nil, err
	}
	return &OpenedState{Manager: p.Manager(s), store: p.Store, workspace: p.Workspace, Snapshot: &statemgr.Snapshot{
		State: loaded.State, Exists: loaded.Exists, Serial: loaded.Serial, Lineage: loaded.Lineage,
		Version: loaded.Version, Revision: loaded.Revision}}, nil
}

// stateAt loads an earlier version of the workspace's state. text is a time, or the start of a
// run's ID, which selects the state at the end of that run.
func (p *Location) stateAt(
	ctx context.Context, rec *timings.Recorder, text string,
) (statemgr.Historian, *statemgr.Moment, *statemgr.Loaded, error) {
	h, err := p.Historian()
	if err != nil {
		return nil, nil, nil, err
	}
	defer rec.Phase("state")()
	at, err := h.Moment(ctx, p.Workspace, text)
	if err != nil {
		return nil, nil, nil, tfdiags.Errorf("No such state", "%s", tfdiags.Sentence(err))
	}
	loaded, err := h.LoadStateAt(ctx, p.Workspace, at, p.codec)
	if err != nil {
		return nil, nil, nil, loadFailed(err)
	}
	return h, at, loaded, nil
}

// Past returns an earlier version of the state of the operation's workspace. text is a time, or the
// start of a run's ID, which selects the state at the end of that run.
func (op *Operation) Past(ctx context.Context, text string) (*engine.Past, error) {
	h, at, loaded, err := op.Location.stateAt(ctx, op.Session.Timings, text)
	if err != nil {
		return nil, err
	}
	turnover, err := h.Turnover(ctx, op.Location.Workspace, at)
	if err != nil {
		return nil, loadFailed(err)
	}
	return &engine.Past{State: Adopt(loaded.State, op.Config.Config, op.Session.Env), At: at.At, Run: at.Run,
		Created: turnover.Created, Destroyed: turnover.Destroyed}, nil
}

func loadFailed(err error) error {
	return tfdiags.Errorf("Failed to load state", "%s", tfdiags.Sentence(err))
}
