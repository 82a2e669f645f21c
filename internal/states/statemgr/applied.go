package statemgr

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tofu/internal/staging"
)

// Applied tells whether a change of the saved plan with that ID was made from this data directory before. On a machine that has
// another data directory nothing is known about that.
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

// noteApplied adds a plan to the list.
func noteApplied(dataDir, planID string) error {
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return err
	}
	if err := staging.RemoveLink(appliedPath(dataDir)); err != nil {
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
