package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tofu/internal/atomicfile"
	"tofu/internal/engine"
	"tofu/internal/refresh"
	"tofu/internal/tfdiags"
)

// agesFile is the name of the file in the data directory that says when objects were last read.
const agesFile = "last-read.json"

// loadAges reads when the objects of the state were last read. Without the file, that is unknown.
func (op *Operation) loadAges() {
	op.ages = &refresh.Ages{}
	path := filepath.Join(op.Session.DataDir, agesFile)
	text, err := atomicfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = op.ages.Load(text, op.Location.Workspace, op.State.Snapshot.Lineage, op.started)
	}
	if err != nil {
		op.Session.Warnings.Add(tfdiags.Warningf("It is not known when objects were last read",
			"%s can't be used: %s. All objects count as not read for a long time. The file is written again.", path, err))
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

// saveAges records when objects were last read. It does nothing without a data directory, and ignores
// errors: what it records only saves time, and the directory may be read-only.
func (op *Operation) saveAges() {
	path := filepath.Join(op.Session.DataDir, agesFile)
	if _, err := os.Stat(op.Session.DataDir); err != nil || op.ages == nil || !op.ages.Changed() {
		return
	}
	previous, _ := atomicfile.Read(path)
	text, err := op.ages.Encode(previous, op.Location.Workspace, op.State.Snapshot.Lineage, op.State.Current())
	if err == nil {
		err = op.Session.WriteDataFile(agesFile, text, 0o600)
	}
	if err != nil {
		op.Session.Logs.Core.Warn("recording when objects were last read", "error", err)
	}
}
