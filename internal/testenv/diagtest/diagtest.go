// Package diagtest compares diagnostics with expectations in the source files of a test.
//
// [Check] is for packages that read or evaluate configurations. The files of a txtar archive
// contain the expected diagnostics as comments. A comment "# error: summary" or "# warning:
// summary" at the end of a line means that a diagnostic is expected on that line. The archive's own
// comment contains the expectations without a line, as "# error: summary", and those for files that
// can't have comments, such as JSON, as "# file:line: error: summary".
//
// All expected diagnostics must occur, and no others. A repeated diagnostic is compared only once.
// Only summaries are compared.
package diagtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/tfdiags"
)

// Check reports all differences between the expected diagnostics and diags. base is the prefix of
// the file names in diags; the file names in the archive don't have it.
func Check(t testing.TB, archive *txtar.Archive, diags tfdiags.Diagnostics, base string) {
	t.Helper()
	got, want := places(diags, base), expectations(archive)
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("missing %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("unexpected %s", line)
		}
	}
}

func places(diags tfdiags.Diagnostics, base string) []string {
	var out []string
	for _, d := range diags {
		at := "-"
		if d.Subject != nil {
			at = fmt.Sprintf("%s:%d", strings.TrimPrefix(d.Subject.Filename, base), d.Subject.Start.Line)
		}
		out = append(out, fmt.Sprintf("%s: %s: %s", at, d.Severity, d.Summary))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var archiveNote = regexp.MustCompile(`^# (?:(\S+:\d+): )?(error|warning): (.*)$`)

func expectations(archive *txtar.Archive) []string {
	var out []string
	for line := range strings.SplitSeq(string(archive.Comment), "\n") {
		if m := archiveNote.FindStringSubmatch(line); m != nil {
			at := m[1]
			if at == "" {
				at = "-"
			}
			out = append(out, fmt.Sprintf("%s: %s: %s", at, m[2], m[3]))
		}
	}
	for _, f := range archive.Files {
		for i, line := range strings.Split(string(f.Data), "\n") {
			for _, note := range strings.Split(line, " # ")[1:] {
				if strings.HasPrefix(note, "error: ") || strings.HasPrefix(note, "warning: ") {
					out = append(out, fmt.Sprintf("%s:%d: %s", f.Name, i+1, note))
				}
			}
		}
	}
	return out
}
