package plans

// Circumstances holds the facts that determine an action. They are known once the provider has
// planned the new object.
type Circumstances struct {
	HasPrior bool // there is an object to update if possible
	Tainted  bool // there is an object to replace; HasPrior is false then
	Equal    bool // the planned object equals the prior one
	// Forced and Triggered say that the user or replace_triggered_by requested a replacement.
	Forced, Triggered bool
	// CannotUpdate says that attributes have changed that the provider can change only by replacing
	// the object.
	CannotUpdate bool
	// WriteOnly says that a write-only attribute is among the attributes that CannotUpdate is
	// about. It can't be compared, so it always forces a replacement.
	WriteOnly bool
	// SensitivityDiffers says that the values are equal, but that different parts of them are
	// sensitive.
	SensitivityDiffers bool

	CreateBeforeDestroy bool
	Forgets             bool // lifecycle.destroy = false: objects are forgotten instead of destroyed
}

// Decide returns the action and its reason.
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
	if c.Triggered {
		reason = ReplaceByTriggers
	}
	return action, reason
}
