package statemgr

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"tofu/internal/atomicfile"
	"tofu/internal/plans"
)

// Applied reports whether a run with this data directory has already made a change of the saved
// plan planID. It knows nothing about runs with other data directories.
func Applied(dataDir, planID string) (bool, error) {
	f, err := atomicfile.Open(appliedPath(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading which plans were applied: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if lines.Text() == planID {
			return true, nil
		}
	}
	return false, lines.Err()
}

// firstChange records, with the first change of an operation, that a saved plan was applied.
type firstChange struct {
	w      *workspace
	planID string // "" if no saved plan is applied
	once   sync.Once
}

func newFirstChange(w *workspace, run *Run) *firstChange {
	return &firstChange{w: w, planID: run.PlanID}
}

// started records it also with the first action, which may change something that no state has.
func (f *firstChange) started(op *Operation) {
	if op.Action == plans.Invoke {
		f.record()
	}
}

func (f *firstChange) record() {
	if f.planID == "" {
		return
	}
	f.once.Do(func() {
		if err := recordApplied(f.w.opts.DataDir, f.planID); err != nil {
			f.w.log.Warn("could not record that the plan was applied", "error", err)
		}
	})
}

// recordApplied adds a plan to the list of applied plans. The list has no secrets, and others who
// work in the same directory need it.
func recordApplied(dataDir, planID string) error {
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return err
	}
	if err := atomicfile.RemoveLink(appliedPath(dataDir)); err != nil {
		return err
	}
	f, err := os.OpenFile(appliedPath(dataDir), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(planID + "\n")
	return errors.Join(err, f.Close())
}

func appliedPath(dataDir string) string { return filepath.Join(dataDir, "applied-plans") }
