package engine

import (
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// Rounds checks the successive plans of an apply in several rounds. Each round plans the changes
// that the previous round deferred. The zero value is ready for the first plan.
type Rounds struct {
	count int // number of plans checked so far
	limit int // largest number of plans that may be needed
}

// Check returns an error if plan defers changes, and applying plan would not help to plan these
// changes in the next round.
func (r *Rounds) Check(plan *plans.Plan) error {
	if r.count == 0 {
		r.limit = len(plan.Deferred) + len(plan.DeferredModules)
	}
	r.count++
	if !plan.Defers() || plan.Applyable && r.count <= r.limit {
		return nil
	}
	var lines []string
	for _, d := range plan.Deferred {
		lines = append(lines, fmt.Sprintf("%s: %s", d.Addr, d.Because()))
	}
	for _, m := range plan.DeferredModules {
		lines = append(lines, fmt.Sprintf("%s: its instances are known only after apply", m))
	}
	var b strings.Builder
	for i, line := range lines {
		if i == maxCauses {
			fmt.Fprintf(&b, "\n  - and %d more", len(lines)-i)
			break
		}
		b.WriteString("\n  - " + line)
	}
	return tfdiags.Errorf("Deferred changes can't be planned",
		"These changes wait for something that applying this plan would not provide:%s", b.String())
}

// maxCauses is the number of deferred changes that an error lists.
const maxCauses = 20

// Next returns the options for the plan of the next round. applied is the plan that was just
// applied. The options no longer request the replacements that it made.
func (r *Rounds) Next(opts *PlanOptions, applied *plans.Plan) *PlanOptions {
	next := *opts
	next.ForceReplace = slices.DeleteFunc(slices.Clone(opts.ForceReplace), func(addr addrs.AbsInstance) bool {
		c := applied.Changes.Instance(addr, addrs.NotDeposed)
		return c != nil && c.Action.IsReplace()
	})
	return &next
}
