package statemgr

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tofu/internal/atomicfile"
)

// Applied reports whether a run with this data directory has already made a change of the saved
// plan planID. It knows nothing about runs with other data directories.
func Applied(dataDir, planID string) (bool, error) {
	f, err := os.Open(appliedPath(dataDir))
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

// recordApplied adds a plan to the list of applied plans.
func recordApplied(dataDir, planID string) error {
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return err
	}
	if err := atomicfile.RemoveLink(appliedPath(dataDir)); err != nil {
		return err
	}
	f, err := os.OpenFile(appliedPath(dataDir), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(planID + "\n")
	return errors.Join(err, f.Close())
}

func appliedPath(dataDir string) string { return filepath.Join(dataDir, "applied-plans") }
