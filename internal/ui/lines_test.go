package ui

import (
	"testing"

	"tofu/internal/plans"
)

// TestLinesOfChanges checks the action in the JSON line about an object that is moved or
// imported without a change.
func TestLinesOfChanges(t *testing.T) {
	imported := &plans.Importing{ID: "x"}
	for _, c := range []struct {
		change plans.InstanceChange
		want   string
	}{
		{plans.InstanceChange{Action: plans.NoOp}, "noop"},
		{plans.InstanceChange{Action: plans.NoOp, MovedFrom: new(instance("a.z"))}, "move"},
		{plans.InstanceChange{Action: plans.NoOp, Importing: imported}, "import"},
		{plans.InstanceChange{Action: plans.Update, Importing: imported}, "update"},
		{plans.InstanceChange{Action: plans.ForgetThenCreate}, "noop"},
		{plans.InstanceChange{Action: plans.ForgetThenCreate, Importing: imported}, "import"},
		{plans.InstanceChange{Action: plans.ForgetThenCreate, MovedFrom: new(instance("a.z"))}, "move"},
	} {
		c.change.Addr = instance("a.b")
		if got := changeLine(&c.change).Action; got != c.want {
			t.Errorf("%+v: %q instead of %q", c.change, got, c.want)
		}
	}
}
