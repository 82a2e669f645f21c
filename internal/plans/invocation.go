package plans

import (
	"cmp"
	"iter"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
)

// Invocation is a planned invocation of an action.
type Invocation struct {
	Addr     addrs.AbsInstance // of an action
	Provider addrs.ProviderInstance
	// Config is the configuration, marked. What is known only during the apply, and ephemeral values,
	// are unknown.
	Config  cty.Value
	Trigger *Trigger // nil if the action was requested by its address
	// Caller is the object for which an action was requested that refers to caller.
	Caller addrs.AbsInstance
}

// Trigger says what triggers an action: an action_trigger block of a resource, at an event.
type Trigger struct {
	Caller addrs.AbsInstance // the object whose change is the event
	Event  string            // such as "after_create"
	// Block is the position of the block in the resource, Index that of the action in the block's list.
	Block, Index int
	OnFailure    string // "halt", "continue" or "taint"
	Undecided    bool   // the condition is known only during the apply
}

// changeEvents lists the events of each change, in their order.
var changeEvents = map[Action][]configs.ActionEvent{
	Create:           {configs.BeforeCreate, configs.AfterCreate},
	Update:           {configs.BeforeUpdate, configs.AfterUpdate},
	Delete:           {configs.BeforeDestroy, configs.AfterDestroy},
	DeleteThenCreate: {configs.BeforeDestroy, configs.AfterDestroy, configs.BeforeCreate, configs.AfterCreate},
	CreateThenDelete: {configs.BeforeCreate, configs.AfterCreate, configs.BeforeDestroy, configs.AfterDestroy},
	ForgetThenCreate: {configs.BeforeCreate, configs.AfterCreate},
}

// Events returns the events at which a change with this action triggers others, in their order.
func (a Action) Events() []configs.ActionEvent { return changeEvents[a] }

// CallerAt returns the object that an action sees as its caller: the old one until an update or a
// destruction is over, and otherwise the new one.
func CallerAt(event configs.ActionEvent, before, after cty.Value) cty.Value {
	if event.Destroys() || event == configs.BeforeUpdate {
		return before
	}
	return after
}

// Taints reports whether the object is tainted if the action fails: only if that was just created.
func (t *Trigger) Taints() bool {
	return t.OnFailure == string(configs.Taint) && t.Event == string(configs.AfterCreate)
}

// Taints reports whether the object that the change creates is tainted if an action fails.
func (c *InstanceChange) Taints() bool {
	return slices.ContainsFunc(c.Invocations, func(inv *Invocation) bool { return inv.Trigger.Taints() })
}

// Compare orders invocations that were requested.
func (inv *Invocation) Compare(other *Invocation) int {
	return cmp.Or(inv.Addr.Compare(other.Addr), inv.Caller.Compare(other.Caller))
}

// Invocations returns all planned invocations, each with the change that triggers it, or nil.
func (c *Changes) Invocations() iter.Seq2[*Invocation, *InstanceChange] {
	return func(yield func(*Invocation, *InstanceChange) bool) {
		for _, change := range c.Instances {
			for _, inv := range change.Invocations {
				if !yield(inv, change) {
					return
				}
			}
		}
		for _, inv := range c.Invoked {
			if !yield(inv, nil) {
				return
			}
		}
	}
}
