package planview

import (
	"fmt"
	"strings"

	"tofu/internal/plans"
)

// Counts holds numbers of objects by what happens to them.
type Counts struct {
	Import   int `json:"import"`
	Add      int `json:"add"`
	Change   int `json:"change"`
	Remove   int `json:"remove"`
	Forget   int `json:"forget"`
	Deferred int `json:"deferred"`      // deferred changes
	Replace  int `json:"replace"`       // replacements, which Add and Remove count, too
	Tainted  int `json:"tainted"`       // of the added objects, those whose creation then failed
	Checks   int `json:"failed_checks"` // messages of checks that have failed
	Invoke   int `json:"action_invocation"`
}

// Plus returns the sum of two Counts.
func (c Counts) Plus(other Counts) Counts {
	return Counts{c.Import + other.Import, c.Add + other.Add, c.Change + other.Change, c.Remove + other.Remove,
		c.Forget + other.Forget, c.Deferred + other.Deferred, c.Replace + other.Replace, c.Tainted + other.Tainted,
		c.Checks + other.Checks, c.Invoke + other.Invoke}
}

// Count counts the changes of a plan. It counts a replacement as an addition and a removal.
func Count(p *plans.Plan) Counts {
	c := Counts{Deferred: len(p.Deferred), Checks: len(failures(p))}
	for range p.Changes.Invocations() {
		c.Invoke++
	}
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
			c.Replace++
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

// String returns the counts as text, as in the summary of a plan.
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
	if c.Deferred > 0 {
		fmt.Fprintf(&b, "; %d deferred", c.Deferred)
	}
	b.WriteByte('.')
	if c.Invoke > 0 {
		fmt.Fprintf(&b, " Actions: %d to invoke.", c.Invoke)
	}
	return b.String()
}

// Changes reports whether objects change, now or after a deferral, in more than that they are imported.
func (c Counts) Changes() bool { return c.Add+c.Change+c.Remove+c.Forget+c.Deferred > 0 }
