package explain

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/states/statemgr"
)

// History is the history of the state that a plan is based on.
type History struct {
	statemgr.Historian
	Workspace string
}

// recent is the number of changes at an address among which lastChange looks for a change of the
// object. Changes of deposed objects have the same address.
const recent = 5

// lastChange returns the latest recorded change of the object that a planned change is for. It returns
// nil if none of the recent changes is of this object.
func (e *explainer) lastChange(ctx context.Context, c *plans.InstanceChange) (*LastChange, error) {
	addr := c.Addr
	if c.MovedFrom != nil {
		addr = *c.MovedFrom
	}
	if e.History == nil || c.Before.IsNull() {
		return nil, nil
	}
	found, err := e.History.PartChanges(ctx, e.History.Workspace, statemgr.Part{Address: addr.String()}, recent)
	for i := range found {
		if found[i].Address == addr.String() && found[i].Deposed == string(c.Deposed) {
			return lastOf(&found[i]), nil
		}
	}
	return nil, err
}

// lastChangeAt returns the latest change of any object at an address.
func (e *explainer) lastChangeAt(ctx context.Context, target addrs.Target) (*LastChange, error) {
	if e.History == nil {
		return nil, nil
	}
	found, err := e.History.PartChanges(ctx, e.History.Workspace, statemgr.Part{Address: target.String()}, 1)
	if len(found) == 0 {
		return nil, err
	}
	return lastOf(&found[0]), nil
}

func lastOf(c *statemgr.PartChange) *LastChange {
	out := &LastChange{ByRun: c.ByRun, Address: c.Address, Action: c.Action}
	if c.Action == "update" {
		out.Attributes = c.Attributes()
	}
	return out
}
