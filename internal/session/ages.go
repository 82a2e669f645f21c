package session

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tofu/internal/atomicfile"
	"tofu/internal/engine"
	"tofu/internal/refresh"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// agesFile is the name of the file in the data directory that says when objects were last read. It is
// used for states whose backend can't hold that, or doesn't let the user write it.
const agesFile = "last-read.json"

// agesPatience limits how long the end of an operation waits to record when objects were last read.
const agesPatience = 10 * time.Second

// loadAges reads when the objects of the state were last read. Where nothing is recorded, that is
// unknown.
func (op *Operation) loadAges(ctx context.Context) {
	op.ages = &refresh.Ages{}
	path := filepath.Join(op.Session.DataDir, agesFile)
	text, err := atomicfile.Read(path)
	op.addAges(path, text, err)
	if keeper, ok := op.Location.Store.(statemgr.AgeKeeper); ok {
		text, err := keeper.Ages(ctx, op.Location.Workspace)
		op.addAges("What the backend has recorded", text, err)
	}
}

func (op *Operation) addAges(from string, text []byte, err error) {
	if errors.Is(err, fs.ErrNotExist) || err == nil && text == nil {
		return
	}
	if err == nil {
		err = op.ages.Load(text, op.Location.Workspace, op.State.Snapshot.Lineage, op.started)
	}
	if err != nil {
		op.Session.Warnings.Add(tfdiags.Warningf("It is not known when objects were last read",
			"%s can't be used: %s. All objects count as not read for a long time. It is written again.", from, err))
	}
}

// observed returns env with an observer that also records which objects are read and written.
func (op *Operation) observed(env *engine.Env) *engine.Env {
	out, now := *env, op.started
	next := env.Observe
	out.Observe = func(e engine.Event) {
		op.ages.Observe(e, now)
		if next != nil {
			next(e)
		}
	}
	return &out
}

// saveAges records when objects were last read. It ignores errors: what it records only saves time,
// and the user may have no rights to write it.
func (op *Operation) saveAges() {
	if op.ages == nil || !op.ages.Changed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), agesPatience)
	defer cancel()
	encode := func(previous []byte) ([]byte, error) {
		return op.ages.Encode(previous, op.Location.Workspace, op.State.Snapshot.Lineage, op.State.Current(), time.Now())
	}
	var err error = errors.ErrUnsupported
	if keeper, ok := op.Location.Store.(statemgr.AgeKeeper); ok {
		if err = keeper.UpdateAges(ctx, op.Location.Workspace, encode); err == nil {
			_ = os.Remove(filepath.Join(op.Session.DataDir, agesFile)) // usually it does not exist
		}
	}
	if err != nil {
		err = op.Session.UpdateDataFile(ctx, agesFile, encode)
	}
	if err != nil {
		op.Session.Logs.Core.Warn("recording when objects were last read", "error", err)
	}
}
