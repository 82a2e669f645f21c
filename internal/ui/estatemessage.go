package ui

import (
	"fmt"
	"strings"

	"tofu/internal/ui/planview"
)

// Estate is the summary of a run over many root modules, which together are called an estate.
type Estate struct {
	Operation string          `json:"operation"` // "plan", "apply" or "destroy"
	Roots     int             `json:"roots"`
	Changed   int             `json:"changed"` // root modules with changes
	Failed    int             `json:"failed"`
	Skipped   int             `json:"skipped"`   // not started, because of a failure or an interrupt
	Postponed int             `json:"postponed"` // not applied yet, because of deferred changes elsewhere
	Deferred  int             `json:"deferred"`
	Counts    planview.Counts `json:"changes"`
}

// Text returns the summary in one line.
func (m Estate) Text() string {
	verb := "change"
	if m.Changed == 1 {
		verb = "changes"
	}
	c := m.Counts
	counts := strings.TrimSuffix(strings.TrimPrefix(c.String(), "Plan: "), ".")
	if m.Operation != "plan" {
		verb = "changed"
		counts = fmt.Sprintf("%d added, %d changed, %d destroyed", c.Add, c.Change, c.Remove)
	}
	text := fmt.Sprintf("%d of %d root modules %s: %s.", m.Changed, m.Roots, verb, counts)
	if m.Changed == 0 {
		text = fmt.Sprintf("None of %d root modules %s.", m.Roots, verb)
	}
	if m.Failed > 0 {
		text += fmt.Sprintf(" %d failed.", m.Failed)
	}
	if m.Skipped > 0 {
		text += fmt.Sprintf(" %d not started.", m.Skipped)
	}
	if m.Postponed > 0 {
		text += fmt.Sprintf(" %d postponed.", m.Postponed)
	}
	return text
}

// EstateRoot is the result of one root module in a run over many.
type EstateRoot struct {
	Name   string          `json:"name"`
	Status string          `json:"status"` // "changes", "unchanged", "applied", "postponed", "failed", "skipped" or "done"
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

// The statuses of root modules, as text.
var estateStatus = map[string]string{"changes": "changes", "unchanged": "no changes", "applied": "applied",
	"failed": "failed", "skipped": "not started", "postponed": "not applied yet", "done": "done by an earlier run"}
