package planview

import (
	"fmt"
	"strings"

	"tofu/internal/plans"
)

// Counts are numbers of objects.
type Counts struct{ Import, Add, Change, Remove, Forget int }

// Count counts the changes of a plan. A replacement counts as an addition and a removal.
func Count(p *plans.Plan) Counts {
	var c Counts
	for _, change := range counted(p) {
		if change.Importing != nil {
			c.Import++
		}
		switch change.Action {
		case plans.Create:
			c.Add++
		case plans.Update:
			c.Change++
		case plans.DeleteThenCreate, plans.CreateThenDelete:
			c.Add++
			c.Remove++
		case plans.Delete:
			c.Remove++
		case plans.Forget:
			c.Forget++
		case plans.ForgetThenCreate:
			c.Add++
			c.Forget++
		}
	}
	return c
}

// String returns the summary of a plan.
func (c Counts) String() string {
	var b strings.Builder
	b.WriteString("Plan: ")
	if c.Import > 0 {
		fmt.Fprintf(&b, "%d to import, ", c.Import)
	}
	fmt.Fprintf(&b, "%d to add, %d to change, %d to destroy", c.Add, c.Change, c.Remove)
	if c.Forget > 0 {
		fmt.Fprintf(&b, ", %d to forget", c.Forget)
	}
	b.WriteByte('.')
	return b.String()
}
