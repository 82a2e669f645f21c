package plans

// Circumstances holds the facts that determine an action. They are known once the provider has
// planned the new object.
type Circumstances struct {
	HasPrior bool // the object exists and is updated if possible
	Tainted  bool // the object exists but must be replaced; HasPrior is false then
	Equal    bool // the planned object equals the prior one
	// Forced is true if the user requested a replacement, and Triggered if replace_triggered_by
	// did.
	Forced, Triggered bool
	// CannotUpdate is true if the provider must replace the object to change some of its
	// attributes.
	CannotUpdate bool
	// WriteOnly is true if one of these attributes is write-only. Its values can't be compared, so
	// it always forces a replacement.
	WriteOnly bool
	// SensitivityDiffers says that the values are equal, but that different parts of them are
	// sensitive.
	SensitivityDiffers bool

	CreateBeforeDestroy bool
	Forgets             bool // lifecycle.destroy = false: objects are forgotten instead of destroyed
}

// Decide returns the action that follows from the circumstances, and the reason for it.
func Decide(c Circumstances) (Action, Reason) {
	replace := DeleteThenCreate
	if c.CreateBeforeDestroy {
		replace = CreateThenDelete
	}
	if c.Forgets {
		replace = ForgetThenCreate
	}
	action, reason := Update, NoReason
	switch {
	case c.Tainted:
		action, reason = replace, ReplaceTainted
	case !c.HasPrior:
		action = Create
	case c.WriteOnly:
		action, reason = replace, ReplaceCannotUpdate
	case c.Equal && !c.Forced && !c.Triggered:
		action = NoOp
		if c.SensitivityDiffers {
			action = Update
		}
	case c.Forced:
		action, reason = replace, ReplaceByRequest
	case c.CannotUpdate:
		action, reason = replace, ReplaceCannotUpdate
	case c.Triggered:
		action = replace
	}
	// As in OpenTofu, a trigger is the reason even if the object doesn't exist yet, or is tainted.
	if c.Triggered {
		reason = ReplaceByTriggers
	}
	return action, reason
}
