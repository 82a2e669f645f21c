package fleet

import (
	"encoding/json"
	"encoding/xml"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/roots"
	"tofu/internal/tfdiags"
)

// report returns a report with names and messages that need escaping.
func report() *Report {
	broken := &Result{Root: &roots.Root{Name: "a|b`c"}, Elapsed: 1500 * time.Millisecond,
		Err: tfdiags.Errorf("Broken <it>", "```\nIt is broken & gone.").At(hcl.Range{Filename: "main.tf",
			Start: hcl.Pos{Line: 3}})}
	list := []*Result{applied, broken, skipped, postponed, same, stopped}
	return NewReport(Summarize("apply", list), list)
}

func text(t *testing.T, form string) string {
	t.Helper()
	var b strings.Builder
	if err := Forms[form](report(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestJSONReport(t *testing.T) {
	var got Report
	if err := json.Unmarshal([]byte(text(t, ".json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.FormatVersion != "1.0" || got.Summary.Failed != 1 || len(got.Roots) != 6 {
		t.Errorf("%+v", got)
	}
	want := []RootReport{
		{Name: "applied", Status: "applied", Changes: applied.Counts()},
		{Name: "a|b`c", Status: "failed", Seconds: 1.5,
			Errors: []ReportedError{{Summary: "Broken <it>", Detail: "```\nIt is broken & gone.", At: "main.tf:3"}}},
		{Name: "skipped", Status: "skipped", Why: "it needs failed, which failed"},
	}
	for i, w := range want {
		if g := got.Roots[i]; g.Name != w.Name || g.Status != w.Status || g.Why != w.Why || g.Changes != w.Changes ||
			g.Seconds != w.Seconds || !slices.Equal(g.Errors, w.Errors) {
			t.Errorf("got %+v, want %+v", g, w)
		}
	}
}

func TestJUnitReport(t *testing.T) {
	var got junitSuite
	if err := xml.Unmarshal([]byte(text(t, ".xml")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "tofu roots apply" || got.Tests != 6 || got.Failures != 1 || got.Errors != 1 || got.Skipped != 2 || len(got.Cases) != 6 {
		t.Errorf("%+v", got)
	}
	c := got.Cases[1]
	if c.Name != "a|b`c" || c.Seconds != "1.500" || c.Failure == nil || c.Failure.Message != "Broken <it>" ||
		!strings.Contains(c.Failure.Text, "Broken <it> (main.tf:3)\n```\nIt is broken & gone.") || c.Skipped != nil {
		t.Errorf("%+v", c)
	}
	if c := got.Cases[5]; c.Error == nil || c.Error.Message != "Operation interrupted" || c.Failure != nil {
		t.Errorf("%+v", c)
	}
	for _, i := range []int{2, 3} {
		if c := got.Cases[i]; c.Skipped == nil || c.Failure != nil {
			t.Errorf("%+v", c)
		}
	}
}

func TestMarkdownReport(t *testing.T) {
	const want = "**1 of 6 root modules changed: 5 added, 1 changed, 3 destroyed. 1 failed. 1 interrupted. " +
		"1 not started. 1 postponed.**\n\n" +
		"| Root module | | − destroy | ± replace | ~ change | + add |\n|---|---|---:|---:|---:|---:|\n" +
		"| `applied` | applied | 1 | 2 | 1 | 3 |\n" +
		"| `a\\|b'c` | failed | 0 | 0 | 0 | 0 |\n" +
		"| `skipped` | skipped: it needs failed, which failed | 0 | 0 | 0 | 0 |\n" +
		"| `postponed` | postponed: it waits for deferred changes of a | 0 | 0 | 0 | 0 |\n" +
		"| `stopped` | interrupted | 0 | 0 | 0 | 0 |\n\n" +
		"`a\\|b'c`:\n\n```\nBroken <it> (main.tf:3)\n'''\nIt is broken & gone.\n```\n" +
		"\n`stopped`:\n\n```\nOperation interrupted\nNothing new was started.\n```\n"
	if got := text(t, ".md"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
