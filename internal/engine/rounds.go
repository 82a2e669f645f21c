package engine

import (
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// Rounds checks the plans of an apply in rounds, each of which plans what the one before deferred.
// The zero value is ready for the first plan.
type Rounds struct {
	count int // plans that were checked
	limit int // the most plans that may be needed
}

// Check returns an error if the next plan defers changes and applying it would not bring them
// closer to being planned.
func (r *Rounds) Check(plan *plans.Plan) error {
	if r.count == 0 {
		r.limit = len(plan.Deferred)
	}
	r.count++
	if !plan.Defers() || plan.Applyable && r.count <= r.limit {
		return nil
	}
	var b strings.Builder
	for i, d := range plan.Deferred {
		if i == maxCauses {
			fmt.Fprintf(&b, "\n  - and %d more", len(plan.Deferred)-i)
			break
		}
		fmt.Fprintf(&b, "\n  - %s: %s", d.Addr, d.Because())
	}
	return tfdiags.Errorf("Deferred changes can't be planned",
		"Applying this plan would not make known what these changes wait for:%s", b.String())
}

// maxCauses is the number of deferred changes that an error lists.
const maxCauses = 20

// Next returns the options of the plan that follows an applied one. They no longer request the
// replacements that it made.
func (r *Rounds) Next(opts *PlanOptions, applied *plans.Plan) *PlanOptions {
	next := *opts
	next.ForceReplace = slices.DeleteFunc(slices.Clone(opts.ForceReplace), func(addr addrs.AbsInstance) bool {
		c := applied.Changes.Instance(addr, addrs.NotDeposed)
		return c != nil && c.Action.IsReplace()
	})
	return &next
}
