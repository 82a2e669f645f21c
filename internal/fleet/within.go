package fleet

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/tfdiags"
)

// within returns an error unless every change in a plan is also in the approved plan, with the same
// action and with the same values, as far as the approved values were known. If an object's
// creation failed halfway, the plan may replace the object.
func within(approved, plan *plans.Plan) error {
	var lines []string
	for _, c := range plan.Changes.Instances {
		if c.Action == plans.NoOp {
			continue
		}
		was := approved.Changes.Instance(c.Addr, c.Deposed)
		if was == nil && c.Deposed != addrs.NotDeposed { // a deposed object that an incomplete replacement has left
			was = approved.Changes.Instance(c.Addr, addrs.NotDeposed)
			if was != nil && was.Action.IsReplace() {
				continue
			}
			was = nil
		}
		switch {
		case was == nil:
			lines = append(lines, fmt.Sprintf("%s: %s was not planned", c.Addr, c.Action))
		case !continues(was.Action, c.Action):
			lines = append(lines, fmt.Sprintf("%s: the planned action was %s, but it is now %s", c.Addr, was.Action, c.Action))
		default:
			lines = append(lines, differences(was, c)...)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return stale("What is left is not what was planned",
		"An earlier run began to apply the plan. What is left of it now has changes that the plan did not have:\n  - %s\n"+
			"Nothing more was changed here. Make a new plan.", strings.Join(lines, "\n  - "))
}

// continues reports whether an action can complete the approved action, which was partly carried
// out.
func continues(approved, left plans.Action) bool {
	switch {
	case approved == left:
		return true
	case approved.IsReplace():
		return left.IsReplace() || left == plans.Create || left == plans.Delete
	}
	return approved == plans.Create && left.IsReplace()
}

// differences returns a line for each planned value that contradicts the approved plan.
func differences(approved, now *plans.InstanceChange) []string {
	if approved.After == cty.NilVal || now.After == cty.NilVal || approved.After.IsNull() || now.After.IsNull() {
		return nil
	}
	var lines []string
	for _, err := range objchange.Contradictions(approved.After, now.After, valueText) {
		lines = append(lines, fmt.Sprintf("%s: %s", now.Addr, tfdiags.FormatError(err)))
	}
	return lines
}
