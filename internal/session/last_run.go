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

// LastRun is the name of the last run of a workspace in the options that name a run.
const LastRun = "last"

// lastRun says what the last apply has changed.
type lastRun struct {
	At      time.Time                 `json:"at"`      // when it began
	Lineage string                    `json:"lineage"` // of the state
	Before  json.RawMessage           `json:"before"`  // a state with the objects that it changed or destroyed
	Changed map[string]*changedObject `json:"changed"` // by address

	before *states.State
}

// changedObject is the current object of an instance that an apply has changed.
type changedObject struct {
	Sum                string `json:"sum,omitempty"` // of the object after it; "" without one
	Created, Destroyed bool   // by its provider
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
	for _, addr := range changed {
		if op.run.Changed[addr.String()] == nil {
			op.run.Changed[addr.String()] = &changedObject{}
			if was := plan.Prior.Instance(addr); was != nil && was.Current != nil {
				op.run.before.SetCurrent(addr, was.Current,
					addrs.ProviderInstance{Config: plan.Prior.Resource(addr.Abs()).Provider, Key: was.ProviderKey})
			}
		}
		op.run.Changed[addr.String()].Sum = sumOf(current(after, addr))
	}
	for _, c := range plan.Changes.Instances {
		if in := op.run.Changed[c.Addr.String()]; in != nil && c.Deposed == addrs.NotDeposed && c.Action != plans.Forget {
			existed, exists := current(plan.Prior, c.Addr) != nil, in.Sum != ""
			in.Created = in.Created || exists && c.Importing == nil && (!existed || c.Action.IsReplace())
			in.Destroyed = in.Destroyed || existed && (!exists || c.Action.IsReplace())
		}
	}
	if err := op.writeRun(); err != nil {
		op.Session.Logs.Core.Warn("recording what the run has changed", "error", err)
	}
}

func current(st *states.State, addr addrs.AbsInstance) *states.Object {
	if inst := st.Instance(addr); inst != nil {
		return inst.Current
	}
	return nil
}

func (op *Operation) writeRun() error {
	ctx, cancel := context.WithTimeout(context.Background(), agesPatience)
	defer cancel()
	return op.updatePart(ctx, lastRunFile, func() (text []byte, err error) {
		run := op.run
		run.Lineage = op.State.Snapshot.Lineage
		run.Before, err = statefile.Encode(&statefile.File{State: run.before, Lineage: run.Lineage}, nil)
		if err != nil {
			return nil, err
		}
		return json.Marshal(run)
	})
}

// undoLast returns the earlier objects for a plan that takes back the last run, which the data directory
// has recorded. Objects that were changed since then are an error that names them.
func (op *Operation) undoLast(ctx context.Context) (*engine.Past, error) {
	path := filepath.Join(op.Session.DataDir, lastRunFile)
	run, err := op.readRun(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tfdiags.Errorf("Run can't be undone", "%s has no run of the workspace %q. It has the last apply that "+
			"changed something, if that was made with this data directory and was not killed.", path, op.Location.Workspace)
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
		if sumOf(current(past.State, addr)) != c.Sum {
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

// readRun reads the last run. It returns fs.ErrNotExist if none is recorded for the state.
func (op *Operation) readRun(ctx context.Context, path string) (*lastRun, error) {
	text, err := atomicfile.Read(path)
	if err != nil {
		return nil, err
	}
	content, err := decodeData(text)
	if err != nil {
		return nil, err
	}
	text = content.Workspaces[op.Location.Workspace]
	if text == nil {
		return nil, fs.ErrNotExist
	}
	if op.Location.codec != nil {
		if text, _, err = op.Location.codec.Decrypt(ctx, text); err != nil {
			return nil, err
		}
	}
	run := &lastRun{}
	if err := json.Unmarshal(text, run); err != nil {
		return nil, err
	}
	if run.Lineage != op.State.Snapshot.Lineage {
		return nil, errors.New("it is about another state")
	}
	file, err := statefile.Parse(run.Before)
	if err != nil {
		return nil, fmt.Errorf("the earlier objects: %w", err)
	}
	run.before = file.State
	return run, nil
}
