package planview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/plans"
	"tofu/internal/ui/valuediff"
)

// onFailure says what follows from the failure of an action, if that is not the default.
func onFailure(on *plans.Trigger) string {
	switch {
	case on == nil:
	case on.OnFailure == string(configs.Continue):
		return "; a failure is ignored"
	case on.Taints():
		return "; a failure taints the object"
	}
	return ""
}

// InvocationText describes an action that is invoked: when, and with which configuration.
func InvocationText(inv *plans.Invocation) string {
	text := inv.Addr.String() + " will be invoked, as requested"
	if inv.Caller != (addrs.AbsInstance{}) {
		text += ", for " + inv.Caller.String()
	}
	on := inv.Trigger
	if on != nil {
		text = on.Event + " invokes " + inv.Addr.String()
		if on.Undecided {
			text += ", if its condition is met"
		}
	}
	if config := invocationConfig(inv); len(config) > 0 {
		text += ": " + strings.Join(config, ", ")
	}
	return text + onFailure(on)
}

// invocationConfig returns the arguments of an action that are set. Sensitive values are hidden.
func invocationConfig(inv *plans.Invocation) []string {
	config, _ := inv.Config.Unmark()
	if config.IsNull() || !config.IsKnown() || !config.Type().IsObjectType() {
		return nil
	}
	var out []string
	differ := &valuediff.Differ{Review: true}
	attrs := config.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		v := attrs[name]
		bare, _ := v.Unmark()
		if bare.IsNull() || bare.IsKnown() && bare.CanIterateElements() && bare.LengthInt() == 0 {
			continue
		}
		out = append(out, name+" = "+Inline(differ.Value(cty.NilVal, v)))
	}
	return out
}

// invocationNotes returns a line for each action that a change triggers.
func invocationNotes(c *plans.InstanceChange) []string {
	var out []string
	for _, inv := range c.Invocations {
		out = append(out, "("+InvocationText(inv)+")")
	}
	return out
}

// sharedInvocations names the actions that each of several equal changes triggers.
func sharedInvocations(c *plans.InstanceChange) []string {
	var out []string
	for _, inv := range c.Invocations {
		out = append(out, fmt.Sprintf("(%s invokes %s for each%s)", inv.Trigger.Event, inv.Addr.Config(),
			onFailure(inv.Trigger)))
	}
	return out
}

// Invokes names the actions that a change triggers, for a short line. It returns "" if there are none.
func (c *Change) Invokes() string {
	var names []string
	for _, inv := range c.Invocations {
		if name := inv.Addr.Resource.String() + inv.Addr.Key.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "invokes " + strings.Join(names, ", ")
}
