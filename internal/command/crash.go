package command

import (
	"fmt"
	"io"

	"tofu/internal/tfdiags"
	"tofu/internal/version"
)

// crashStatus is the exit status after a crash of this program.
const crashStatus = 11

const crashText = `
This is a bug in tofu, not in your configuration%s.

All changes so far are recorded, and the next command continues from there.
Please report the bug with the text below, after removing what is confidential.

%s, compatible with OpenTofu %s
%s
`

// ReportCrash reports a panic and returns the exit status.
func ReportCrash(to io.Writer, crash tfdiags.Crash) (status int) {
	return reportCrash(to, fmt.Sprintf(": %v", crash.Problem), crash)
}

// reportCrash writes the report. problem is appended to the first sentence of the report; it is
// empty if a diagnostic has already described the problem.
func reportCrash(to io.Writer, problem string, crash tfdiags.Crash) (status int) {
	fmt.Fprintf(to, crashText, problem, version.Build(), version.String, crash.Stack)
	return crashStatus
}

// crashOf returns the first crash in the diagnostics of an error. It returns false if none of them is
// a crash.
func crashOf(err error) (tfdiags.Crash, bool) {
	for _, d := range tfdiags.FromError(err) {
		if crash, ok := d.Extra.(tfdiags.Crash); ok {
			return crash, true
		}
	}
	return tfdiags.Crash{}, false
}
