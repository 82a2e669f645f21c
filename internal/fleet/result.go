package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/driftview"
	"tofu/internal/ui/planview"
)

// Result is the result of a root module in a run.
type Result struct {
	Root *roots.Root
	Err  error
	// Skipped is true if nothing was done. Why is the reason. Because is the name of the failed
	// root module that caused it, or "".
	Skipped      bool
	Why, Because string
	Unplanned    bool // there is no plan that could be applied

	// Elapsed is the time from the start of the work on the root module to its end.
	Elapsed  time.Duration
	Done     bool         // an earlier run finished the root module
	applying bool         // whether the run is an apply
	Plan     *PlanSummary // summary of the root module's plan; nil without a plan
	Applied  *ui.Applied  // what was changed; nil if nothing was applied
	// Incomplete says what an apply that failed has done and not begun; nil unless it began.
	Incomplete *ui.Incomplete
	// Drift says what was changed outside; nil if the run doesn't look for that, or could not.
	Drift *driftview.Report
}

// Failed reports whether the root module failed or was skipped.
func (r *Result) Failed() bool { return r.Err != nil || r.Skipped }

// Failures returns one error about all root modules that failed or were skipped, or nil if there
// are none.
func Failures(results []*Result) error {
	names := make(map[ui.RootStatus][]string)
	for _, r := range results {
		names[r.Status()] = append(names[r.Status()], r.Root.Name)
	}
	var parts []string
	for _, of := range []struct {
		status ui.RootStatus
		text   string
	}{{ui.RootFailed, "failed"}, {ui.RootInterrupted, "interrupted"}, {ui.RootSkipped, "not started"}} {
		if n := len(names[of.status]); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", n, of.text, FirstNames(names[of.status])))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return tfdiags.Errorf("Not all root modules succeeded", "Of %s: %s.%s", ui.Count(len(results), "root module"),
		strings.Join(parts, ", "), causes(results))
}

// Few is the maximum number of root modules whose results are shown one after the other.
const Few = 5

// Limits of the list of causes: of its lines, and of the characters of a message.
const (
	maxCauses = 20
	maxCause  = 200
)

// causes returns a line for each cause of a failure: in which root modules it occurred, the object and the
// message. Equal causes in several root modules are one line. For few root modules, whose errors are just
// above, only causes with an object are repeated.
func causes(results []*Result) string {
	var list []string
	in := make(map[string][]string)
	for _, r := range results {
		for _, d := range tfdiags.FromError(r.Err) {
			_, ended := d.Extra.(tfdiags.Interrupted)
			if d.Severity != tfdiags.Error || d.Address == "" && (ended || len(results) <= Few) {
				continue
			}
			text := cause(d)
			if in[text] == nil {
				list = append(list, text)
			}
			if names := in[text]; len(names) == 0 || names[len(names)-1] != r.Root.Name {
				in[text] = append(names, r.Root.Name)
			}
		}
	}
	var b strings.Builder
	for i, text := range list {
		if i == maxCauses {
			fmt.Fprintf(&b, "\n  - and %d more causes", len(list)-i)
			break
		}
		fmt.Fprintf(&b, "\n  - %s: %s", FirstNames(in[text]), text)
	}
	return b.String()
}

// cause returns an error in one line: its object, its summary and the beginning of its detail.
func cause(d tfdiags.Diagnostic) string {
	parts := []string{strings.Join(strings.Fields(d.Summary), " ")}
	if d.Address != "" {
		parts = slices.Insert(parts, 0, d.Address)
	}
	if detail, _, _ := strings.Cut(strings.TrimSpace(d.Detail), "\n\n"); detail != "" {
		parts = append(parts, strings.Join(strings.Fields(detail), " "))
	}
	text := []rune(strings.Join(parts, ": "))
	if len(text) > maxCause {
		text = append(text[:maxCause], '…')
	}
	return string(text)
}

// NotStarted says in one line how many root modules did not start, and why. It returns "" if all did.
func NotStarted(results []*Result) string {
	n := 0
	var reasons []string
	count := make(map[string]int)
	for _, r := range results {
		if !r.Skipped {
			continue
		}
		n++
		reason := "because " + r.Why
		if r.Because != "" {
			reason = "needs " + r.Because
		}
		if count[reason]++; count[reason] == 1 {
			reasons = append(reasons, reason)
		}
	}
	if n == 0 {
		return ""
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return count[b] - count[a] })
	const most = 5
	var parts []string
	for i, reason := range reasons {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more reasons", len(reasons)-i))
			break
		}
		if name, needs := strings.CutPrefix(reason, "needs "); needs && count[reason] > 1 {
			reason = "need " + name
		}
		parts = append(parts, fmt.Sprintf("%d %s", count[reasons[i]], reason))
	}
	return fmt.Sprintf("Not started: %s (%s).", ui.Count(n, "root module"), strings.Join(parts, ", "))
}

// Rows returns the planned root modules as tables show them.
func Rows(results []*Result) []planview.Root {
	var out []planview.Root
	for _, r := range results {
		if r.Plan != nil && !r.Failed() {
			out = append(out, r.Plan.row(r.Root.Name))
		}
	}
	return out
}

// FirstNames lists names, at most ten of them.
func FirstNames(names []string) string {
	const most = 10
	if more := len(names) - most; more > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// Status returns the status of the root module.
func (r *Result) Status() ui.RootStatus {
	switch {
	case r.Skipped:
		return ui.RootSkipped
	case r.Err != nil && interrupted(r.Err):
		return ui.RootInterrupted
	case r.Err != nil:
		return ui.RootFailed
	case r.Done:
		return ui.RootDone
	case r.Applied == nil && r.applying && len(r.Plan.Waits) > 0:
		return ui.RootPostponed
	case r.Applied != nil:
		return ui.RootApplied
	case r.Plan != nil && (r.Plan.Changes || r.Plan.Deferred > 0):
		return ui.RootChanges
	}
	return ui.RootUnchanged
}

// Counts returns the numbers of applied changes or, if the run was a plan, of planned changes.
func (r *Result) Counts() planview.Counts {
	switch {
	case r.Applied != nil:
		return r.Applied.Counts
	case r.Plan != nil && !r.applying:
		return r.Plan.Counts
	}
	return planview.Counts{}
}

// Changes reports whether any plan has changes, including deferred ones.
func Changes(results []*Result) bool {
	for _, r := range results {
		if r.Plan != nil && (r.Plan.Changes || r.Plan.Deferred > 0) {
			return true
		}
	}
	return false
}

// Records reports whether applying the plans updates a state even without changes.
func Records(results []*Result) bool {
	return slices.ContainsFunc(results, func(r *Result) bool { return r.Plan != nil && r.Plan.Records })
}

// Applied reports whether the plan of at least one root module was applied.
func Applied(results []*Result) bool {
	return slices.ContainsFunc(results, func(r *Result) bool { return r.Applied != nil })
}

// Resumable reports whether another run may finish root modules that this apply did not finish.
func Resumable(results []*Result) bool {
	return slices.ContainsFunc(results, func(r *Result) bool {
		if r.Skipped { // if another root module failed, the result of that root module decides
			return !r.Unplanned && r.Because == ""
		}
		return r.Err != nil && !isStale(r.Err)
	})
}

// Left reports whether changes remain to be planned after all plans are applied.
func Left(results []*Result) bool {
	for _, r := range results {
		if r.Plan != nil && r.Plan.left() {
			return true
		}
	}
	return false
}

// Applyable reports whether applying the plans would change anything.
func Applyable(results []*Result) bool {
	for _, r := range results {
		if r.Plan != nil && r.Plan.Changes && len(r.Plan.Waits) == 0 {
			return true
		}
	}
	return false
}

// Summarize returns the summary of a run.
func Summarize(operation string, results []*Result) ui.Estate {
	m := ui.Estate{Operation: operation, Roots: len(results)}
	var looked plans.Looked
	var limited bool
	var at time.Time
	for _, r := range results {
		switch r.Status() {
		case ui.RootSkipped:
			m.Skipped++
		case ui.RootFailed:
			m.Failed++
		case ui.RootInterrupted:
			m.Interrupted++
		case ui.RootPostponed:
			m.Postponed++
		}
		switch {
		case operation != "plan":
			if r.Applied != nil {
				if r.Err == nil || r.Applied.Counts != (planview.Counts{}) {
					m.Changed++
				}
				m.Counts = m.Counts.Plus(r.Applied.Counts)
			}
		case r.Plan != nil:
			if r.Plan.Changes {
				m.Changed++
			}
			m.Counts = m.Counts.Plus(r.Plan.Counts)
			m.Deferred += r.Plan.Deferred
			looked, limited, at = looked.Plus(r.Plan.Looked), limited || r.Plan.Limited, r.Plan.At
		}
	}
	if limited {
		m.LookedAt, m.At = &looked, at
	}
	return m
}

// Stuck returns an error that names the root modules whose deferred changes can't be planned.
func Stuck(results []*Result) error {
	var lines []string
	for _, r := range results {
		if r.Plan != nil && r.Plan.Deferred > 0 {
			lines = append(lines, fmt.Sprintf("\n  - %s: %d deferred", r.Root.Name, r.Plan.Deferred))
		}
	}
	return tfdiags.Errorf("Deferred changes can't be planned",
		"The values that these changes depend on would still be unknown after applying everything else:%s",
		strings.Join(lines, ""))
}
