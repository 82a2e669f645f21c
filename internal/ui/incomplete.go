package ui

import (
	"fmt"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// Incomplete says what a failed apply has done and what it has not begun.
type Incomplete struct {
	Destroy bool // whether everything was to be destroyed
	Counts  planview.Counts
	Failed  int
	// FailedActions is the number of actions that have failed.
	FailedActions int
	NotStarted    int
	Waits         []string // such as "a.b waits for c.d", for the first ones that were not started
}

func (Incomplete) message() {}

// maxWaits is the maximum number of objects that were not started and are named.
const maxWaits = 5

// Incomplete returns what was done and what was not. An object with an error has failed, even if its
// step did not begin.
func (t *Tally) Incomplete(view *PlanView, errs tfdiags.Diagnostics) Incomplete {
	out := Incomplete{Counts: t.Counts(), Destroy: view.Plan.Mode == plans.Destroy}
	t.mu.Lock()
	defer t.mu.Unlock()
	hasError := make(map[string]bool)
	for _, d := range errs {
		hasError[d.Address] = true
	}
	u := planview.New(view.Source(), planview.Options{}).Unfinished(
		func(c *plans.InstanceChange) bool {
			return t.failed[objectKey{c.Addr, c.Deposed}] || hasError[planview.Name(c)] ||
				c.ReplaceDeposed != addrs.NotDeposed && t.failed[objectKey{c.Addr, c.ReplaceDeposed}]
		},
		func(c *plans.InstanceChange) bool {
			deletesData := c.Action == plans.Delete && c.Addr.Resource.Mode == addrs.Data
			return !deletesData && c.Action != plans.NoOp && c.Action != plans.Forget && c.Action != plans.Read &&
				!t.started[objectKey{c.Addr, c.Deposed}]
		})
	out.Failed, out.NotStarted = len(u.Failed), len(u.NotStarted)
	for key := range t.failed {
		if key.addr.Resource.Mode == addrs.Action {
			out.FailedActions++
		}
	}
	for _, c := range u.NotStarted[:min(len(u.NotStarted), maxWaits)] {
		text := planview.Name(c)
		if other := u.WaitsFor(c); other != nil {
			text += " waits for " + planview.Name(other)
		}
		out.Waits = append(out.Waits, text)
	}
	return out
}

// text returns the numbers of what was done, and what waits for what.
func (m Incomplete) text() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{m.Counts.Import, "imported"}, {m.Counts.Add - m.Counts.Tainted, "created"}, {m.Counts.Change, "changed"},
		{m.Counts.Remove, "destroyed"}, {m.Counts.Forget, "forgotten"}, {m.Failed, "failed"},
		{m.Counts.Invoke, "invoked"}, {m.FailedActions, "failed to be invoked"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if m.NotStarted > 0 {
		names := strings.Join(m.Waits, "; ")
		if more := m.NotStarted - len(m.Waits); more > 0 {
			names += fmt.Sprintf("; and %d more", more)
		}
		parts = append(parts, fmt.Sprintf("%d not started (%s)", m.NotStarted, termtext.Printable(names)))
	}
	if len(parts) == 0 {
		parts = []string{"nothing was done"}
	}
	what := "Apply"
	if m.Destroy {
		what = "Destroy"
	}
	return what + " incomplete: " + strings.Join(parts, ", ") + "."
}
