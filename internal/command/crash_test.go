package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

func TestCrashReport(t *testing.T) {
	var out, problems bytes.Buffer
	app := NewApp(&terminal.Streams{Out: &out, Err: &problems}, nil)
	err := tfdiags.Diagnostics{
		tfdiags.Errorf("Other problem", "Something else."),
		{Severity: tfdiags.Error, Summary: "Crash", Detail: "An internal error occurred: lost my way.",
			Extra: tfdiags.Crash{Problem: "lost my way", Stack: []byte("the stack")}},
	}.Err()
	if status := app.finish(fmt.Errorf("applying: %w", err), nil); status != crashStatus {
		t.Errorf("the status is %d", status)
	}
	for _, want := range []string{"Other problem", "bug in tofu", "lost my way", "the stack"} {
		if strings.Count(problems.String(), want) != 1 {
			t.Errorf("%q should be said once:\n%s", want, problems.String())
		}
	}
}
