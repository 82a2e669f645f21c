package plans

import "testing"

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		in     Circumstances
		action Action
		reason Reason
	}{
		"nothing there": {Circumstances{}, Create, NoReason},
		"equal":         {Circumstances{HasPrior: true, Equal: true}, NoOp, NoReason},
		"other parts are sensitive": {Circumstances{HasPrior: true, Equal: true, SensitivityDiffers: true},
			Update, NoReason},
		"differs": {Circumstances{HasPrior: true}, Update, NoReason},
		"can't be updated": {Circumstances{HasPrior: true, CannotUpdate: true}, DeleteThenCreate,
			ReplaceCannotUpdate},
		"write-only": {Circumstances{HasPrior: true, Equal: true, CannotUpdate: true,
			WriteOnly: true}, DeleteThenCreate, ReplaceCannotUpdate},
		"asked for": {Circumstances{HasPrior: true, Equal: true, Forced: true},
			DeleteThenCreate, ReplaceByRequest},
		"asked for and needed": {Circumstances{HasPrior: true, Forced: true, CannotUpdate: true},
			DeleteThenCreate, ReplaceByRequest},
		"triggered": {Circumstances{HasPrior: true, Equal: true, Triggered: true},
			DeleteThenCreate, ReplaceByTriggers},
		"triggered, and nothing there": {Circumstances{Triggered: true}, Create, ReplaceByTriggers},
		"triggered and tainted": {Circumstances{Tainted: true, Triggered: true}, DeleteThenCreate,
			ReplaceByTriggers},
		"triggered and needed": {Circumstances{HasPrior: true, Triggered: true, CannotUpdate: true},
			DeleteThenCreate, ReplaceByTriggers},
		"tainted": {Circumstances{Tainted: true}, DeleteThenCreate, ReplaceTainted},
		"tainted, creating first": {Circumstances{Tainted: true, CreateBeforeDestroy: true}, CreateThenDelete,
			ReplaceTainted},
		"creating first": {Circumstances{HasPrior: true, CannotUpdate: true,
			CreateBeforeDestroy: true}, CreateThenDelete, ReplaceCannotUpdate},
		"forgetting": {Circumstances{HasPrior: true, CannotUpdate: true, Forgets: true},
			ForgetThenCreate, ReplaceCannotUpdate},
		"forgetting goes before": {Circumstances{HasPrior: true, CannotUpdate: true, Forgets: true,
			CreateBeforeDestroy: true}, ForgetThenCreate, ReplaceCannotUpdate},
	} {
		if action, reason := Decide(c.in); action != c.action || reason != c.reason {
			t.Errorf("%s: %s (%s), want %s (%s)", name, action, reason, c.action, c.reason)
		}
	}
}
