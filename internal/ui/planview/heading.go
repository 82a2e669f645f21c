package planview

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// NoSchemaText is shown instead of differences if there is no schema to compare the values with.
const NoSchemaText = "(the schema of the provider is not available)"

// skippedText is shown in place of unchanged lines of a string.
func skippedText(n int) string {
	if n == 1 {
		return "(1 unchanged line)"
	}
	return fmt.Sprintf("(%d unchanged lines)", n)
}

// Heading describes what happens to an object, or, for drift, what has happened to it outside
// of OpenTofu. Notes say why, and may have several lines.
func Heading(c *plans.InstanceChange, drift bool) (heading string, notes []string) {
	name := objectName(c)
	if c.Action == plans.NoOp && c.MovedFrom != nil && c.Importing == nil {
		return fmt.Sprintf("%s has moved to %s", c.MovedFrom, name), nil
	}
	heading = name + " " + actionText(c)
	if drift {
		heading = name + " " + driftText(c)
	} else if reason := reasonText(c); reason != "" {
		notes = append(notes, "("+reason+")")
	}
	if c.MovedFrom != nil {
		notes = append(notes, fmt.Sprintf("(moved from %s)", c.MovedFrom))
	}
	if c.NeededBy != "" && !drift {
		notes = append(notes, "("+c.NeededBy+")")
	}
	notes = append(notes, importNotes(c)...)
	if !drift {
		notes = append(notes, invocationNotes(c)...)
	}
	return heading, notes
}

// Name returns the address of the object of a change, and its key if it is deposed.
func Name(c *plans.InstanceChange) string { return objectName(c) }

// objectName returns the address of an object, and its key if it is deposed.
func objectName(c *plans.InstanceChange) string {
	if c.Deposed == addrs.NotDeposed {
		return c.Addr.String()
	}
	return fmt.Sprintf("%s (deposed object %s)", c.Addr, c.Deposed)
}

// driftText describes a change made outside of OpenTofu.
func driftText(c *plans.InstanceChange) string {
	if c.Action == plans.Delete {
		return "has been deleted"
	}
	return "has changed"
}

// actionText describes the planned action, such as "will be created".
func actionText(c *plans.InstanceChange) string {
	switch c.Action {
	case plans.Create:
		return "will be created"
	case plans.Read:
		return "will be read during apply"
	case plans.Update:
		return "will be updated in-place"
	case plans.Delete:
		return "will be destroyed"
	case plans.Forget:
		return "will be forgotten (removed from the state, but not destroyed)"
	case plans.NoOp:
		return "will be imported"
	}
	text := "must be replaced"
	switch c.Reason {
	case plans.ReplaceTainted:
		text = "is tainted, so it must be replaced"
	case plans.ReplaceByRequest:
		text = "will be replaced, as requested"
	case plans.ReplaceByTriggers:
		text = "will be replaced due to changes in replace_triggered_by"
	}
	if c.Action == plans.ForgetThenCreate {
		text += "; the old object is kept (lifecycle.destroy = false)"
	}
	return text
}

// reasonTexts explains reasons, except those with instance keys (see reasonText).
var reasonTexts = map[plans.Reason]string{
	plans.DeleteEnabledFalse:           "because enabled is false",
	plans.DeleteNewer:                  "because it did not exist at the time to which the plan goes back",
	plans.ReadConfigUnknown:            "its configuration has unknown values",
	plans.ReadDependencyPending:        "something it depends on will be changed first",
	plans.ReadCheckNested:              "read again to decide a check block",
	plans.ForgotLifecycleDestroyConfig: "because it has lifecycle.destroy = false",
	plans.ForgotLifecycleDestroyState:  "because it had lifecycle.destroy = false when it left the configuration",
}

func reasonText(c *plans.InstanceChange) string {
	if c.Deposed != addrs.NotDeposed {
		return "left by a replacement that failed halfway"
	}
	if c.Action.IsReplace() || c.Action == plans.Forget && c.Reason == plans.DeleteNoResourceConfig {
		return "" // obvious from the heading or the configuration
	}
	switch c.Reason {
	case plans.DeleteNoResourceConfig:
		return fmt.Sprintf("because the configuration has no %s", c.Addr.Abs())
	case plans.DeleteNoModule:
		if c.NoModule.At == addrs.RootInstance { // in plans of version 0.1.0
			return fmt.Sprintf("because %s no longer exists", c.Addr.Module)
		}
		parent, step := c.NoModule.At.Parent()
		return noModule(c.NoModule, parent.Child(step.Name, addrs.NoKey), "instance "+step.Key.String())
	case plans.DeleteNoMoveTarget:
		return fmt.Sprintf("because %s was moved to %s, which the configuration does not have", c.MovedFrom, c.Addr)
	case plans.DeleteCountIndex:
		return fmt.Sprintf("because index %s is out of range for count", c.Addr.Key)
	case plans.DeleteEachKey:
		return fmt.Sprintf("because for_each has no key %s", c.Addr.Key)
	case plans.DeleteWrongRepetition:
		if _, counted := c.Addr.Key.IsInt(); counted {
			return "because the resource no longer has count"
		}
		if _, keyed := c.Addr.Key.IsString(); keyed {
			return "because the resource no longer has for_each"
		}
		return "because the resource now has count or for_each"
	}
	return reasonTexts[c.Reason]
}

// noModule says what a module call lacks, which the configuration has. call is the address of the call,
// and instances are the missing ones.
func noModule(m plans.MissingModule, call fmt.Stringer, instances string) string {
	_, step := m.At.Parent()
	_, counted := step.Key.IsInt()
	keyed := !counted && step.Key != addrs.NoKey
	switch {
	case counted && m.Call != "count":
		return fmt.Sprintf("because %s no longer has count", call)
	case keyed && m.Call != "for_each":
		return fmt.Sprintf("because %s no longer has for_each", call)
	case counted, keyed:
		return fmt.Sprintf("because %s has no %s", call, instances)
	case m.Call == "enabled":
		return fmt.Sprintf("because %s is disabled", call)
	}
	return fmt.Sprintf("because %s now has %s", call, m.Call)
}

// SharedReason returns the reason why several instances of a block change. It omits details in
// which the instances may differ.
func SharedReason(c *plans.InstanceChange) string {
	if c.Deposed == addrs.NotDeposed {
		switch c.Reason {
		case plans.DeleteNoResourceConfig:
			return fmt.Sprintf("because the configuration has no %s", c.Addr.Config())
		case plans.DeleteNoModule:
			if c.NoModule.At != addrs.RootInstance {
				return noModule(c.NoModule, c.NoModule.At.Module(), "such instances")
			}
		case plans.DeleteCountIndex:
			return "because the indexes are out of range for count"
		case plans.DeleteEachKey:
			return "because for_each no longer has the keys"
		case plans.DeleteNoMoveTarget:
			return "because they were moved to addresses that the configuration does not have"
		}
	}
	return reasonText(c)
}

// Notes returns the notes of Heading that are true of all objects of several, and why they are replaced.
func (g *Group) Notes() []string {
	var out []string
	if why := ReplaceReason(g.InstanceChange); why != "" {
		out = append(out, why)
	}
	if g.MovedFrom != nil {
		out = append(out, "(moved from "+g.MovedFrom.Config().String()+")")
	}
	why := g.Change.Why()
	if slices.ContainsFunc(g.Changes, func(c *Change) bool { return c.Why() != why }) {
		why = SharedReason(g.InstanceChange)
	}
	if why != "" {
		out = append(out, "("+why+")")
	}
	return append(out, sharedInvocations(g.InstanceChange)...)
}

// ReplaceReason returns why an object is replaced, and whether the old object is kept. It returns ""
// if the object isn't replaced, or if attributes force the replacement and the old object is
// destroyed.
func ReplaceReason(c *plans.InstanceChange) string {
	if !c.Action.IsReplace() {
		return ""
	}
	text := replaceReasons[c.Reason]
	if c.Action == plans.ForgetThenCreate {
		if text != "" {
			text += "; "
		}
		text += "the old object is kept, because lifecycle.destroy is false"
	}
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

var replaceReasons = map[plans.Reason]string{
	plans.ReplaceTainted:    "because it is tainted",
	plans.ReplaceByRequest:  "as requested",
	plans.ReplaceByTriggers: "due to changes in replace_triggered_by",
}

func importNotes(c *plans.InstanceChange) []string {
	if c.Importing == nil {
		return nil
	}
	var notes []string
	if c.GeneratedConfig != "" && c.Action == plans.NoOp {
		notes = append(notes, "(config will be generated)")
	}
	if identity := c.Importing.Identity; identity != cty.NilVal && !identity.IsNull() && identity.IsWhollyKnown() {
		notes = append(notes, "imported by its identity: "+indentedJSON(identity))
	} else if c.Importing.ID != "" {
		notes = append(notes, `(imported from "`+c.Importing.ID+`")`)
	}
	if c.Action.IsReplace() {
		notes = append(notes, "Warning: the imported object will be destroyed")
	}
	return notes
}

func indentedJSON(v cty.Value) string {
	text, err := json.MarshalIndent(ctyjson.SimpleJSONValue{Value: v}, "", "  ")
	if err != nil {
		panic("unreachable: an identity is JSON: " + err.Error())
	}
	return string(text)
}
