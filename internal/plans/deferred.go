package plans

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/providers"
)

// DeferReason says why a change can't be planned yet. The strings are those of "reason" in JSON
// output.
type DeferReason string

const (
	// DeferredCount means that the argument count, for_each or enabled is unknown.
	DeferredCount DeferReason = "instance_count_unknown"
	// DeferredConfig means that an argument that the plan requires is unknown.
	DeferredConfig DeferReason = providers.DeferredConfig
	// DeferredProvider means that the configuration of the provider is unknown.
	DeferredProvider DeferReason = providers.DeferredProvider
	// DeferredAbsent means that something the object needs does not exist yet.
	DeferredAbsent DeferReason = providers.DeferredAbsent
	// DeferredPrereq means that the object depends on another object that is deferred.
	DeferredPrereq DeferReason = "deferred_prereq"
	// DeferredOther means that the provider deferred the change for another reason.
	DeferredOther DeferReason = providers.DeferredOther
)

var deferTexts = map[DeferReason]string{
	DeferredCount:    "its instances are known only after apply",
	DeferredConfig:   "its configuration is known only after apply",
	DeferredProvider: "the configuration of its provider is known only after apply",
	DeferredAbsent:   "something that it needs does not exist yet",
	DeferredPrereq:   "something that it depends on is deferred",
	DeferredOther:    "its provider can't plan it yet",
}

// Text returns the reason in words. The text calls the object "it".
func (r DeferReason) Text() string { return deferTexts[r] }

// Deferred is a change that a plan puts off because a value is still unknown. Most fields of
// InstanceChange that say more about the change, such as Reason and Private, may be empty. Action
// is the action that is expected. If the instances are unknown, the instance key is
// addrs.UnknownKey, and the change represents all instances of the resource in that module
// instance.
type Deferred struct {
	InstanceChange
	Why DeferReason
	// Chain lists the steps from the unknown value to the argument that the plan requires.
	Chain []DeferralStep
	// Via is the deferred block that the block depends on, if Why is DeferredPrereq.
	Via string
	// Kept is the number of objects in the state that stay as they are and were not refreshed.
	Kept int
	// Alone is true if only some instances of the resource are deferred: others have changes in the
	// plan.
	Alone bool
}

// Because returns the reason and its cause in words. It also says what happens to the objects in
// the state.
func (d *Deferred) Because() string {
	switch {
	case d.Kept == 0:
		return d.cause()
	case d.Kept == 1:
		return d.cause() + "; the existing object stays as it is and was not refreshed"
	}
	return fmt.Sprintf("%s; the %d existing objects stay as they are and were not refreshed", d.cause(), d.Kept)
}

func (d *Deferred) cause() string {
	switch {
	case d.Why == DeferredPrereq:
		return fmt.Sprintf("it depends on %s, which is deferred", d.Via)
	case len(d.Chain) == 0:
		return d.Why.Text()
	}
	steps := make([]string, len(d.Chain))
	for i, step := range d.Chain {
		steps[i] = step.String()
	}
	return d.Why.Text() + ": " + strings.Join(steps, " → ")
}

// String returns the step with its position in the configuration.
func (s DeferralStep) String() string {
	if s.Where == "" {
		return s.What
	}
	return s.What + " (" + s.Where + ")"
}

// DeferralStep is an element of the chain that explains a deferral.
type DeferralStep struct {
	What  string `json:"what"`            // what is unknown: a reference, or an argument and its block
	Where string `json:"where,omitempty"` // file and line, such as "main.tf:12"
}

// SortDeferred orders deferred changes by address.
func SortDeferred(list []*Deferred) {
	slices.SortFunc(list, func(a, b *Deferred) int { return a.compare(b.Addr, b.Deposed) })
}

// UnknownVariables returns the sorted names of the root variables that are not wholly known.
func (p *Plan) UnknownVariables() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		if !p.Variables[name].IsWhollyKnown() {
			out = append(out, name)
		}
	}
	return out
}

// NotStored returns the names of the variables that must be set again to apply the plan, because it
// doesn't have their values: those that were not known, and ephemeral ones.
func (p *Plan) NotStored() []string {
	return slices.AppendSeq(p.UnknownVariables(), maps.Keys(p.EphemeralVariables))
}

// Defers reports whether the plan puts off any changes.
func (p *Plan) Defers() bool { return len(p.Deferred)+len(p.DeferredModules) > 0 }

// DeferredResources returns the resources whose instances are all deferred by the plan.
func (p *Plan) DeferredResources() map[addrs.ConfigResource]bool {
	out := make(map[addrs.ConfigResource]bool, len(p.Deferred))
	for _, d := range p.Deferred {
		if !d.Alone {
			out[d.Addr.Config()] = true
		}
	}
	return out
}
