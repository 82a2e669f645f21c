package session

import (
	"context"
	"fmt"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/states"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// Undo returns the earlier objects for a plan that takes back what a run did: those that the run changed
// are as they were before it, and all others are as they are now. run is the beginning of the run's ID.
// [LastRun] is the last one, the only one that backends without a history know. If other runs have changed
// some of these objects since, Undo returns an error that names them.
func (op *Operation) Undo(ctx context.Context, run string) (*engine.Past, error) {
	h, err := op.Location.Historian()
	if err != nil && run == LastRun {
		return op.undoLast(ctx)
	}
	if err != nil {
		return nil, tfdiags.Join(err, tfdiags.Errorf("Run can't be undone", "Without a history, only -undo=%s is possible.", LastRun))
	}
	if run == LastRun {
		changes, err := h.RunChanges(ctx, op.Location.Workspace, 1)
		if err != nil {
			return nil, loadFailed(err)
		}
		if len(changes) > 0 {
			run = changes[0].Run
		}
	}
	runs, known := h.(statemgr.RunHistorian)
	if !known {
		return nil, tfdiags.Errorf("Run can't be undone", "The backend doesn't know which objects a run has changed.")
	}
	workspace := op.Location.Workspace
	parts, err := runs.RunParts(ctx, workspace, run)
	if err != nil {
		return nil, tfdiags.Errorf("Run can't be undone", "%s", tfdiags.Sentence(err))
	}
	if len(parts.Later) > 0 {
		return nil, builtOn(parts)
	}
	before, since := states.New(), &statemgr.Moment{}
	if parts.Before != nil {
		loaded, err := h.LoadStateAt(ctx, workspace, parts.Before, op.Location.codec)
		if err != nil {
			return nil, loadFailed(err)
		}
		before, since = Adopt(loaded.State, op.Config.Config, op.Session.Env), parts.Before
	}
	turnover, err := h.Turnover(ctx, workspace, since)
	if err != nil {
		return nil, loadFailed(err)
	}
	past := &engine.Past{State: op.State.State().Clone(), At: since.At, Undo: parts.Run,
		Created: make(map[addrs.AbsInstance]bool), Destroyed: make(map[addrs.AbsInstance]bool)}
	for _, addr := range parts.Changed {
		past.Created[addr], past.Destroyed[addr] = turnover.Created[addr], turnover.Destroyed[addr]
		past.State.Forget(addr)
		if was := before.Instance(addr); was != nil && was.Current != nil {
			provider := addrs.ProviderInstance{Config: before.Resource(addr.Abs()).Provider, Key: was.ProviderKey}
			past.State.SetCurrent(addr, was.Current, provider)
		}
	}
	return past, nil
}

// builtOn returns the error about runs that have changed the same objects since.
func builtOn(parts *statemgr.RunParts) error {
	const most = 10
	var b strings.Builder
	for i, c := range parts.Later {
		if i == most {
			fmt.Fprintf(&b, "\n  - and %d more", len(parts.Later)-most)
			break
		}
		fmt.Fprintf(&b, "\n  - %s", c.Address)
		if c.Run != "" {
			fmt.Fprintf(&b, " (%s, by %s in run %s)", c.Action, c.Who, c.Run)
		}
	}
	if parts.Later[0].Run == "" {
		return tfdiags.Errorf("Other runs built on this one", "Objects that the last recorded run, %s, changed were changed "+
			"again since:%s\n\nOnly the last run can be undone, unless the backend keeps a history, as \"postgres\" does.",
			parts.Run, b.String())
	}
	return tfdiags.Errorf("Other runs built on this one", "Objects that the run %s changed were changed again since:%s\n\n"+
		"Undo these runs first, the last one first; or go back to an earlier time with \"tofu plan -against=RUN\", which "+
		"undoes all of them.", parts.Run, b.String())
}
