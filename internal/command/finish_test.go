package command

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

// TestFinish checks that a command's last warnings are printed once, regardless of its result.
func TestFinish(t *testing.T) {
	for _, tc := range []struct {
		name   string
		err    error
		status int
		failed string // part of the printed error
	}{
		{name: "success"},
		{name: "result", err: exitStatus(2), status: 2},
		{name: "diagnostic", err: tfdiags.Errorf("Broken", "It is."), status: 1, failed: "Error: Broken"},
		{name: "other error", err: errors.New("no space"), status: 1, failed: "Error: No space"},
		{name: "usage", err: badUsage("Too many arguments", "Two."), status: 1, failed: "-help"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			app := NewApp(&terminal.Streams{Out: &out, Err: &errOut}, []string{"NO_COLOR=1"})
			app.Warnings.Add(tfdiags.Warningf("Careful", "One."))
			app.Warnings.Add(tfdiags.Warningf("More careful", "Two."))
			if status := app.finish(tc.err, []string{"plan"}); status != tc.status {
				t.Errorf("status %d, want %d", status, tc.status)
			}
			app.finish(nil, nil)
			first, second := strings.Index(out.String(), "Careful"), strings.Index(out.String(), "More careful")
			if first < 0 || second < first || strings.Count(out.String(), "Careful") != 1 {
				t.Errorf("standard output:\n%s", out.String())
			}
			if !strings.Contains(errOut.String(), tc.failed) || tc.failed == "" && errOut.Len() > 0 {
				t.Errorf("standard error:\n%s", errOut.String())
			}
		})
	}
}
