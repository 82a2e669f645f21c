package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tofu/internal/cliconfig"
	"tofu/internal/dag"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
)

// load returns an estate in a new directory with a root module for each name. A colon separates a
// name from the names of the root modules that it depends on: "b:a".
func load(t *testing.T, names ...string) *roots.Estate {
	t.Helper()
	t.Chdir(t.TempDir())
	var file strings.Builder
	for _, text := range names {
		name, after, _ := strings.Cut(text, ":")
		fmt.Fprintf(&file, "root %q {\n  after = [", name)
		for needed := range strings.FieldsSeq(after) {
			fmt.Fprintf(&file, "root[%q], ", needed)
		}
		file.WriteString("]\n}\n")
		err := os.MkdirAll(name, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(name, "main.tf"), []byte("output \"x\" {\n  value = 1\n}\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("roots.tofu.hcl", []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := session.New(session.NewProcess(nil, &cliconfig.Config{}, io.Discard), "",
		terminal.New(&terminal.Streams{Out: io.Discard, Err: io.Discard}))
	e, err := roots.Load(t.Context(), []string{"."}, func(m session.RootModule) *session.Session { return s.At(m, s.Terminal) })
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func named(e *roots.Estate, names string) (out []*roots.Root) {
	for name := range strings.FieldsSeq(names) {
		out = append(out, e.ByName(name))
	}
	return out
}

func namesOf(list []*roots.Root) string {
	var out []string
	for _, r := range list {
		out = append(out, r.Name)
	}
	return strings.Join(out, " ")
}

// TestOrder checks the order of root modules and their dependencies. If only a part of an estate is
// selected, dependencies outside of that part must be ignored.
func TestOrder(t *testing.T) {
	e := load(t, "network", "cluster:network", "app:cluster", "dns:cluster network", "apart")
	for _, c := range []struct {
		selected string
		reverse  bool
		order    string
		edges    string
	}{
		{"network cluster app dns apart", false, "apart network cluster app dns",
			"cluster>network app>cluster dns>cluster dns>network"},
		{"network cluster app dns apart", true, "dns app cluster network apart",
			"network>cluster network>dns cluster>app cluster>dns"},
		{"network app", false, "network app", ""},
		{"network dns", false, "network dns", "dns>network"},
		{"network dns", true, "dns network", "network>dns"},
		{"", false, "", ""},
	} {
		run := &Run{Estate: e, Selected: named(e, c.selected)}
		q := run.order(c.reverse)
		list := q.list
		var edges []string
		for i, r := range list {
			for _, id := range q.graph.Needs(dag.ID(i)) {
				edges = append(edges, r.Name+">"+list[id].Name)
				if int(id) >= i {
					t.Errorf("%s comes before %s", r.Name, list[id].Name)
				}
			}
		}
		want := strings.Fields(c.edges)
		slices.Sort(want)
		slices.Sort(edges)
		if !slices.Equal(edges, want) || namesOf(list) != c.order {
			t.Errorf("%s, reverse %v: %s with edges %v, want %v", c.selected, c.reverse, namesOf(list), edges, want)
		}
	}
}

func TestWaiting(t *testing.T) {
	e := load(t, "network", "cluster:network", "dns:cluster network")
	names := (&Run{Estate: e, Selected: e.Roots}).order(false).waiting()
	for name, want := range map[string]string{"network": "cluster dns", "cluster": "dns", "dns": ""} {
		got := names(name)
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%v wait for %s, want %s", got, name, want)
		}
	}
}

func interruption() error {
	d := tfdiags.Errorf("Operation interrupted", "Nothing new was started.")
	d.Extra = tfdiags.Interrupted{}
	return d
}

// TestSkipped checks the reasons why root modules weren't started.
func TestSkipped(t *testing.T) {
	failure := errors.New("broken")
	e := load(t, "a", "b:a", "c:b", "d:a")
	for _, c := range []struct {
		name string
		of   error // error of root module a
		want string
	}{
		{"a failure", failure, "b: it needs a, which failed; c: it needs a, which failed; d: it needs a, which failed"},
		{"an interrupt", interruption(), "b: the run was interrupted; c: the run was interrupted; d: the run was interrupted"},
		{"before an operation", fmt.Errorf("locking: %w", context.Canceled),
			"b: the run was interrupted; c: the run was interrupted; d: the run was interrupted"},
		{"a failure and an interrupt", tfdiags.Join(failure, interruption()),
			"b: it needs a, which failed; c: it needs a, which failed; d: it needs a, which failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := &Run{Estate: e, Selected: e.Roots}
			q := run.order(false)
			results := make([]*Result, len(q.list))
			var got []string
			for i, r := range q.list {
				if r.Name == "a" {
					results[i] = &Result{Root: r, Err: c.of}
					continue
				}
				results[i] = q.blocked(q.uses[i], r, results)
				got = append(got, r.Name+": "+results[i].Why)
			}
			slices.Sort(got)
			if strings.Join(got, "; ") != c.want {
				t.Errorf("got %s, want %s", strings.Join(got, "; "), c.want)
			}
		})
	}
}

// Results of root modules, one for each outcome.
var (
	failed    = &Result{Root: &roots.Root{Name: "failed"}, Err: tfdiags.Errorf("Broken", "It is broken.")}
	skipped   = &Result{Root: &roots.Root{Name: "skipped"}, Skipped: true, Why: "it needs failed, which failed", Because: "failed"}
	outdated  = &Result{Root: &roots.Root{Name: "outdated"}, Err: stale("Stale", "It is outdated.")}
	unplanned = &Result{Root: &roots.Root{Name: "unplanned"}, Skipped: true, Unplanned: true, Why: "planning it failed"}
	waiting   = &Result{Root: &roots.Root{Name: "waiting"}, Skipped: true, Why: whyInterrupted}
	stopped   = &Result{Root: &roots.Root{Name: "stopped"}, Err: interruption()}
	done      = &Result{Root: &roots.Root{Name: "done"}, Done: true, Plan: &PlanSummary{Changes: true}, applying: true}
	postponed = &Result{Root: &roots.Root{Name: "postponed"}, applying: true, Why: "it waits for deferred changes of a",
		Plan: &PlanSummary{Changes: true, Waits: []string{"a"}, Counts: planview.Counts{Add: 9}}}
	applied = &Result{Root: &roots.Root{Name: "applied"}, applying: true,
		Plan: &PlanSummary{Changes: true, Counts: planview.Counts{Add: 7}}, Applied: &ui.Applied{Counts: planview.Counts{Add: 5, Change: 1, Remove: 3, Replace: 2}}}
	planned  = &Result{Root: &roots.Root{Name: "planned"}, Plan: &PlanSummary{Changes: true, Counts: planview.Counts{Add: 2, Remove: 1}}}
	deferred = &Result{Root: &roots.Root{Name: "deferred"}, Plan: &PlanSummary{Deferred: 3, Counts: planview.Counts{Deferred: 3}}}
	records  = &Result{Root: &roots.Root{Name: "records"}, Plan: &PlanSummary{Records: true}}
	same     = &Result{Root: &roots.Root{Name: "same"}, Plan: &PlanSummary{}}
)

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		of     *Result
		status ui.RootStatus
		counts planview.Counts
	}{
		{failed, "failed", planview.Counts{}}, {skipped, "skipped", planview.Counts{}}, {done, "done", planview.Counts{}},
		{postponed, "postponed", planview.Counts{}}, {applied, "applied", planview.Counts{Add: 5, Change: 1, Remove: 3, Replace: 2}},
		{planned, "changes", planview.Counts{Add: 2, Remove: 1}}, {deferred, "changes", planview.Counts{Deferred: 3}},
		{stopped, "interrupted", planview.Counts{}}, {records, "unchanged", planview.Counts{}}, {same, "unchanged", planview.Counts{}},
	} {
		if c.of.Status() != c.status || c.of.Counts() != c.counts {
			t.Errorf("%s has status %s and counts %+v", c.of.Root.Name, c.of.Status(), c.of.Counts())
		}
	}
}

// TestQuestions checks the functions that answer questions about all results of a run, such as
// Resumable.
func TestQuestions(t *testing.T) {
	for _, c := range []struct {
		results []*Result
		want    string
	}{
		{nil, ""},
		{[]*Result{same}, ""},
		{[]*Result{records}, "records"},
		{[]*Result{planned}, "changes applyable"},
		{[]*Result{deferred}, "changes left"},
		{[]*Result{planned, deferred}, "changes left applyable"},
		{[]*Result{postponed}, "changes left"},
		{[]*Result{applied, failed, skipped}, "changes applied applyable resumable"},
		{[]*Result{applied, outdated, unplanned, skipped}, "changes applied applyable"},
		{[]*Result{stopped}, "resumable"},
		{[]*Result{waiting}, "resumable"},
	} {
		var got []string
		for _, q := range []struct {
			name string
			ask  func([]*Result) bool
		}{{"changes", Changes}, {"records", Records}, {"left", Left}, {"applied", Applied}, {"applyable", Applyable},
			{"resumable", Resumable}} {
			if q.ask(c.results) {
				got = append(got, q.name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
}

func TestFailures(t *testing.T) {
	for want, results := range map[string][]*Result{
		"":                                      {applied, same},
		"Of 2 root modules: 1 failed (failed).": {applied, failed},
		"Of 3 root modules: 1 failed (failed), 1 not started (skipped).":                          {failed, skipped, same},
		"Of 3 root modules: 1 failed (failed), 1 interrupted (stopped), 1 not started (skipped).": {failed, stopped, skipped},
		"Of 1 root module: 1 not started (skipped).":                                              {skipped},
		"Of 11 root modules: 11 failed (" + strings.Repeat("failed, ", 10) + "and 1 more).":       slices.Repeat([]*Result{failed}, 11),
	} {
		err := Failures(results)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestCauses checks the list of causes: with objects, equal ones once, those of interrupts only with an
// object, and those without an object only for many root modules.
func TestCauses(t *testing.T) {
	result := func(name, address, summary, detail string, extra any) *Result {
		d := tfdiags.Errorf(summary, "%s", detail)
		d.Address, d.Extra = address, extra
		return &Result{Root: &roots.Root{Name: name}, Err: d}
	}
	list := []*Result{
		result("a", "x.y[0]", "Quota\nexceeded", "Ask for\nmore.\n\nThe request was 7.", nil),
		result("b", "", "No host", "", nil),
		result("c", "", "No host", "", nil),
		result("d", "x.z", "Ended", "It was interrupted.", tfdiags.Interrupted{}),
		result("e", "", "Operation interrupted", "Nothing new was started.", tfdiags.Interrupted{}),
		{Root: &roots.Root{Name: "f"}, Err: tfdiags.Diagnostics{tfdiags.Warningf("Beware", "Of it."),
			tfdiags.Errorf("Long", "%s", strings.Repeat("é", 300))}.Err()},
	}
	const few = "\n  - a: x.y[0]: Quota exceeded: Ask for more.\n  - d: x.z: Ended: It was interrupted."
	if got := causes(list[:5]); got != few {
		t.Errorf("got %s\nwant %s", got, few)
	}
	many := "\n  - a: x.y[0]: Quota exceeded: Ask for more.\n  - b, c: No host\n  - d: x.z: Ended: It was interrupted." +
		"\n  - f: Long: " + strings.Repeat("é", 194) + "…"
	if got := causes(list); got != many {
		t.Errorf("got %s\nwant %s", got, many)
	}
	var different []*Result
	for i := range 23 {
		different = append(different, result("r", fmt.Sprintf("x.y[%d]", i), "Broken", "", nil))
	}
	if got := causes(different); strings.Count(got, "\n") != 21 || !strings.HasSuffix(got, "\n  - and 3 more causes") {
		t.Errorf("got %s", got)
	}
}

func TestNotStarted(t *testing.T) {
	needs := func(name string) *Result {
		return &Result{Skipped: true, Because: name, Why: "it needs " + name + ", which failed"}
	}
	for want, results := range map[string][]*Result{
		"": {applied, failed},
		"Not started: 1 root module (1 needs failed).":                                          {skipped, failed},
		"Not started: 4 root modules (2 need b, 1 needs a, 1 because the run was interrupted).": {needs("a"), needs("b"), waiting, needs("b")},
		"Not started: 1 root module (1 because planning it failed).":                            {unplanned},
		"Not started: 7 root modules (1 needs a, 1 needs b, 1 needs c, 1 needs d, 1 needs e, and 2 more reasons).": {
			needs("a"), needs("b"), needs("c"), needs("d"), needs("e"), needs("f"), needs("g")},
	} {
		if got := NotStarted(results); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		operation, want string
		results         []*Result
	}{
		{"plan", "2 of 4 root modules change: 4 to add, 0 to change, 2 to destroy; 3 deferred.", []*Result{planned, planned, deferred, same}},
		{"plan", "1 of 3 root modules changes: 2 to add, 0 to change, 1 to destroy. 1 failed. 1 not started.",
			[]*Result{planned, failed, skipped}},
		{"apply", "1 of 4 root modules changed: 5 added, 1 changed, 3 destroyed. 1 failed. 1 postponed.",
			[]*Result{applied, failed, postponed, done}},
		{"apply", "None of 2 root modules changed. 1 interrupted. 1 not started.", []*Result{stopped, skipped}},
		{"plan", "None of 1 root module changes.", []*Result{same}},
		{"plan", "1 of 1 root module changes: 2 to add, 0 to change, 1 to destroy.", []*Result{planned}},
		{"plan", "None of 2 root modules change.", []*Result{same, records}},
	} {
		if got := Summarize(c.operation, c.results).Text(); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}
