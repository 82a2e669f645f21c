package ui

import (
	"fmt"
	"strings"
	"time"

	"tofu/internal/plans"
	"tofu/internal/ui/planview"
)

// Estate is the summary of a run over an estate, which is a set of many root modules.
type Estate struct {
	Operation   string          `json:"operation"` // "plan", "apply" or "destroy"
	Roots       int             `json:"roots"`
	Changed     int             `json:"changed"` // number of root modules with changes
	Failed      int             `json:"failed"`
	Interrupted int             `json:"interrupted"` // started but not finished because of an interrupt
	Skipped     int             `json:"skipped"`     // not started, because of a failure or an interrupt
	Postponed   int             `json:"postponed"`   // not applied yet, because of deferred changes in other root modules
	Deferred    int             `json:"deferred"`
	Counts      planview.Counts `json:"changes"`
	LookedAt    *plans.Looked   `json:"looked_at,omitempty"` // nil if the plans have read all objects
	At          time.Time       `json:"-"`                   // the time of the plans
}

// Text returns the summary in one line.
func (m Estate) Text() string {
	verb := "change"
	if m.Changed == 1 || m.Changed == 0 && m.Roots == 1 {
		verb = "changes"
	}
	c := m.Counts
	counts := strings.TrimSuffix(strings.TrimPrefix(c.String(), "Plan: "), ".")
	if m.Operation != "plan" {
		verb = "changed"
		counts = doneCounts(c)
	}
	all := Count(m.Roots, "root module")
	text := fmt.Sprintf("%d of %s %s: %s.", m.Changed, all, verb, counts)
	if m.Changed == 0 {
		text = fmt.Sprintf("None of %s %s.", all, verb)
	}
	if c.Checks > 0 {
		text += " " + Count(c.Checks, "check") + " failed."
	}
	for _, part := range []struct {
		n    int
		what string
	}{
		{m.Failed, "failed"}, {m.Interrupted, "interrupted"}, {m.Skipped, "not started"}, {m.Postponed, "postponed"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(" %d %s.", part.n, part.what)
		}
	}
	if m.LookedAt != nil {
		text += "\n" + m.LookedAt.Text(m.At) + "."
	}
	return text
}

// doneCounts returns the numbers of objects that were changed, and of actions that were invoked.
func doneCounts(c planview.Counts) string {
	var b strings.Builder
	if c.Import > 0 {
		fmt.Fprintf(&b, "%d imported, ", c.Import)
	}
	fmt.Fprintf(&b, "%d added", c.Add)
	if c.Tainted > 0 {
		fmt.Fprintf(&b, " (%d tainted)", c.Tainted)
	}
	fmt.Fprintf(&b, ", %d changed, %d destroyed", c.Change, c.Remove)
	if c.Forget > 0 {
		fmt.Fprintf(&b, ", %d forgotten", c.Forget)
	}
	if c.Invoke > 0 {
		fmt.Fprintf(&b, ", %d invoked", c.Invoke)
	}
	return b.String()
}

// EstateTable lists the root modules of a plan, each with its numbers of changes. The JSON form omits it,
// because it has a line with the result of each root module.
type EstateTable struct{ Roots []planview.Root }

// RootStatus is the status of a root module after a run. JSON documents contain it as a string.
type RootStatus string

const (
	RootChanges     RootStatus = "changes" // changes are planned
	RootUnchanged   RootStatus = "unchanged"
	RootApplied     RootStatus = "applied"
	RootPostponed   RootStatus = "postponed" // the plan waits for deferred changes of other root modules
	RootFailed      RootStatus = "failed"
	RootInterrupted RootStatus = "interrupted" // the user ended the run before the root module was finished
	RootSkipped     RootStatus = "skipped"     // not started, because of a failure or an interrupt
	RootDone        RootStatus = "done"        // applied by an earlier run
)

// EstateRoot is the result of a run for one root module of an estate.
type EstateRoot struct {
	Name   string          `json:"name"`
	Status RootStatus      `json:"status"`
	Why    string          `json:"why,omitempty"`
	Counts planview.Counts `json:"changes"`
}

func (m EstateRoot) text() string {
	text := m.Name + ": " + estateStatus[m.Status]
	if m.Why != "" {
		text += ": " + m.Why
	}
	return text
}

// line returns the result in one line, with the numbers of an apply.
func (m EstateRoot) line() string {
	if m.Status == RootApplied {
		return m.text() + ": " + doneCounts(m.Counts)
	}
	return m.text()
}

// estateStatus maps the status of a root module to text for humans.
var estateStatus = map[RootStatus]string{RootChanges: "changes", RootUnchanged: "no changes", RootApplied: "applied",
	RootFailed: "failed", RootInterrupted: "interrupted", RootSkipped: "not started",
	RootPostponed: "not applied yet", RootDone: "done by an earlier run"}
