package plans

// Circumstances are what an action follows from, once a provider has said what the new object would be.
type Circumstances struct {
	HasPrior bool // there is an object, and it is to be updated if possible
	Tainted  bool // there is an object, but it is to be replaced; HasPrior is false then
	Equal    bool // the planned object equals the prior one
	// Forced: replacement was asked for, by the user or by a trigger.
	Forced, Triggered bool
	// CannotUpdate: attributes changed that the provider can only change by replacing the object.
	CannotUpdate bool
	// WriteOnly: a write-only attribute is among those; it can't be compared, so it always replaces.
	WriteOnly bool
	// SensitivityDiffers: the values are equal, but other parts of them are sensitive.
	SensitivityDiffers bool

	CreateBeforeDestroy bool
	Forgets             bool // lifecycle.destroy = false: what would be destroyed is forgotten
}

// Decide gives the action and the reason for it.
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
