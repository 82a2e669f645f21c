package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// lastRunFile is the name of the file in the data directory with what the last apply of each workspace
// has changed, for backends without a history. The part of a workspace is encrypted as its state is.
const lastRunFile = "last-run.json"

// begunRunFile is the name of the file with the planned changes of an apply that has not ended.
const begunRunFile = "begun-run.json"

// LastRun is the name of the last run of a workspace in the options that name a run.
const LastRun = "last"

// lastRun says what the last apply has changed.
type lastRun struct {
	At      time.Time                 `json:"at"`      // when it began
	Lineage string                    `json:"lineage"` // of the state; "" if the run has made the state
	Before  json.RawMessage           `json:"before"`  // a state with the objects that it changed or destroyed
	Changed map[string]*changedObject `json:"changed"` // by address

	before *states.State
}

// changedObject is the current object of an instance that an apply has changed.
type changedObject struct {
	Sum                string        `json:"sum,omitempty"` // of the object after it; "" without one
	Created, Destroyed bool          // by its provider
	Planned            plannedChange `json:"planned,omitempty"` // until the apply has ended
}

// plannedChange is a change that an apply will make to an object.
type plannedChange string

const (
	plannedProvider plannedChange = "provider" // any change by the provider but a replacement
	plannedReplace  plannedChange = "replace"
	plannedRecord   plannedChange = "record" // only the state changes: an import, or an object that is forgotten
)

// plannedChanges returns the changes of a plan to current objects.
func plannedChanges(plan *plans.Plan) map[addrs.AbsInstance]plannedChange {
	out := map[addrs.AbsInstance]plannedChange{}
	for _, c := range plan.Changes.Instances {
		switch {
		case c.Deposed != addrs.NotDeposed || c.Addr.Resource.Mode != addrs.Managed:
		case c.Action.IsReplace():
			out[c.Addr] = plannedReplace
		case c.Importing != nil || c.Action == plans.Forget:
			out[c.Addr] = plannedRecord
		case c.Action != plans.NoOp:
			out[c.Addr] = plannedProvider
		}
	}
	return out
}

// ended notes what became of an object.
func (c *changedObject) ended(was, now *states.Object) {
	c.Sum = sumOf(now)
	replaced := c.Planned == plannedReplace
	if replaced || c.Planned == plannedProvider {
		c.Created = c.Created || now != nil && (was == nil || replaced)
		c.Destroyed = c.Destroyed || was != nil && (now == nil || replaced)
	}
	c.Planned = ""
}

// note returns what is known of an object that the run changes. before is the state before that change.
func (run *lastRun) note(addr addrs.AbsInstance, before *states.State) *changedObject {
	c := run.Changed[addr.String()]
	if c == nil {
		c = &changedObject{}
		run.Changed[addr.String()] = c
		if was := before.Instance(addr); was != nil && was.Current != nil {
			run.before.SetCurrent(addr, was.Current,
				addrs.ProviderInstance{Config: before.Resource(addr.Abs()).Provider, Key: was.ProviderKey})
		}
	}
	return c
}

// sumOf returns a checksum of an object's values, or "" for nil.
func sumOf(o *states.Object) string {
	if o == nil {
		return ""
	}
	var text bytes.Buffer
	if json.Compact(&text, o.Attrs) != nil {
		text.Write(o.Attrs)
	}
	sum := sha256.Sum256(text.Bytes())
	return hex.EncodeToString(sum[:])
}

// beginRun writes the planned changes of an apply to the data directory, with the objects before them. If
// the apply is killed, endKilledRun completes that file. Like saveAges, it ignores errors. It does nothing if the
// backend has a history.
func (op *Operation) beginRun(plan *plans.Plan) {
	planned := plannedChanges(plan)
	if _, known := op.Location.Store.(statemgr.Historian); known || len(planned) == 0 {
		return
	}
	run := &lastRun{At: op.started.UTC(), Changed: map[string]*changedObject{}, before: states.New()}
	if op.run != nil { // an earlier round of the same operation
		run.before = op.run.before.Clone()
		for text, c := range op.run.Changed {
			earlier := *c
			run.Changed[text] = &earlier
		}
	}
	for addr, what := range planned {
		run.note(addr, plan.Prior).Planned = what
	}
	op.begun = true
	op.Session.writeRun(op.Location, begunRunFile, run, op.State.Snapshot.Lineage)
}

// endRun removes what beginRun has written.
func (op *Operation) endRun() {
	if op.begun {
		op.begun = false
		op.Session.writeRun(op.Location, begunRunFile, nil, "")
	}
}

// endKilledRun completes what the data directory has of a run that was killed, after its journal was read:
// which of the planned changes it has made. Like saveAges, it ignores errors.
func (s *Session) endKilledRun(ctx context.Context, p *Location, now *statemgr.Snapshot) {
	run, err := s.readRun(ctx, p, begunRunFile, now.Lineage)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil:
		for text, c := range run.Changed {
			addr, err := addrs.ParseInstanceText(text)
			if err != nil {
				continue // undoLast reports it
			}
			c.ended(run.before.Current(addr), now.State.Current(addr))
			if !c.Created && !c.Destroyed && c.Sum == sumOf(run.before.Current(addr)) {
				delete(run.Changed, text)
			}
		}
		if len(run.Changed) > 0 {
			s.writeRun(p, lastRunFile, run, now.Lineage)
		}
	}
	s.writeRun(p, begunRunFile, nil, "")
}

// recordRun notes what an apply has changed, together with earlier rounds of the same operation, and
// writes it to the data directory. Like saveAges, it ignores errors. It does nothing if the backend has
// a history.
func (op *Operation) recordRun(plan *plans.Plan, after *states.State) {
	if _, known := op.Location.Store.(statemgr.Historian); known {
		return
	}
	changed := statemgr.ChangedInstances(plan.Prior, after)
	if len(changed) == 0 && op.run == nil {
		return
	}
	if op.run == nil {
		op.run = &lastRun{At: op.started.UTC(), Changed: map[string]*changedObject{}, before: states.New()}
	}
	planned := plannedChanges(plan)
	for _, addr := range changed {
		c := op.run.note(addr, plan.Prior)
		c.Planned = planned[addr]
		c.ended(plan.Prior.Current(addr), after.Current(addr))
	}
	op.Session.writeRun(op.Location, lastRunFile, op.run, op.State.Snapshot.Lineage)
}

// writeRun writes the workspace's part of a file about a run of the state with the given lineage; nil
// removes it.
func (s *Session) writeRun(p *Location, file string, run *lastRun, lineage string) {
	ctx, cancel := context.WithTimeout(context.Background(), agesPatience)
	defer cancel()
	err := s.updatePart(ctx, p, file, func() (text []byte, err error) {
		if run == nil {
			return nil, nil
		}
		run.Lineage = lineage
		run.Before, err = statefile.Encode(&statefile.File{State: run.before, Lineage: run.Lineage}, nil)
		if err != nil {
			return nil, err
		}
		return json.Marshal(run)
	})
	if err != nil {
		s.Logs.Core.Warn("recording what the run changes", "error", err)
	}
}

// undoLast returns the earlier objects for a plan that takes back the last run, which the data directory
// has recorded. Objects that were changed since then are an error that names them.
func (op *Operation) undoLast(ctx context.Context) (*engine.Past, error) {
	path := filepath.Join(op.Session.DataDir, lastRunFile)
	run, err := op.Session.readRun(ctx, op.Location, lastRunFile, op.State.Snapshot.Lineage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tfdiags.Errorf("Run can't be undone", "%s has no run of the workspace %q. It has the last apply that "+
			"changed something, if that was made with this data directory.", path, op.Location.Workspace)
	}
	if err != nil {
		return nil, tfdiags.Errorf("Run can't be undone", "%s can't be used: %s.", path, err)
	}
	past := &engine.Past{State: op.State.State().Clone(), At: run.At, Undo: LastRun,
		Created: make(map[addrs.AbsInstance]bool), Destroyed: make(map[addrs.AbsInstance]bool)}
	parts := &statemgr.RunParts{Run: "of " + run.At.Format(time.RFC3339)}
	for _, text := range slices.Sorted(maps.Keys(run.Changed)) {
		addr, err := addrs.ParseInstanceText(text)
		if err != nil {
			return nil, tfdiags.Errorf("Run can't be undone", "%s has the invalid address %q: %s.", path, text, err)
		}
		c := run.Changed[text]
		if sumOf(past.State.Current(addr)) != c.Sum {
			parts.Later = append(parts.Later, statemgr.PartChange{Address: text})
		}
		past.Created[addr], past.Destroyed[addr] = c.Created, c.Destroyed
		past.State.Forget(addr)
		if was := run.before.Instance(addr); was != nil {
			past.State.SetCurrent(addr, was.Current,
				addrs.ProviderInstance{Config: run.before.Resource(addr.Abs()).Provider, Key: was.ProviderKey})
		}
	}
	if len(parts.Later) > 0 {
		return nil, builtOn(parts)
	}
	return past, nil
}

// readRun reads a run from a file. It returns fs.ErrNotExist if the workspace has none, and an error if the
// run is about a state of another lineage than the given one.
func (s *Session) readRun(ctx context.Context, p *Location, file, lineage string) (*lastRun, error) {
	text, err := atomicfile.Read(filepath.Join(s.DataDir, file))
	if err != nil {
		return nil, err
	}
	content, err := decodeData(text)
	if err != nil {
		return nil, err
	}
	text = content.Workspaces[p.Workspace]
	if text == nil {
		return nil, fs.ErrNotExist
	}
	if p.codec != nil {
		if text, _, err = p.codec.Decrypt(ctx, text); err != nil {
			return nil, err
		}
	}
	run := &lastRun{}
	if err := json.Unmarshal(text, run); err != nil {
		return nil, err
	}
	if lineage != "" && run.Lineage != "" && run.Lineage != lineage {
		return nil, errors.New("it is about another state")
	}
	before, err := statefile.Parse(run.Before)
	if err != nil {
		return nil, fmt.Errorf("the earlier objects: %w", err)
	}
	run.before = before.State
	return run, nil
}
