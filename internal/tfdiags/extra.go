package tfdiags

import (
	"runtime/debug"

	"github.com/hashicorp/hcl/v2"
)

// CausedByUnknown, as a Diagnostic's Extra, indicates that the cause is a value that is not known
// until apply.
type CausedByUnknown struct{}

// DiagnosticCausedByUnknown implements the interface that hcl.DiagnosticExtra looks for.
func (CausedByUnknown) DiagnosticCausedByUnknown() bool { return true }

// CausedBySensitive, as a Diagnostic's Extra, indicates that the cause is a sensitive value.
type CausedBySensitive struct{}

// DiagnosticCausedBySensitive implements the interface that hcl.DiagnosticExtra looks for.
func (CausedBySensitive) DiagnosticCausedBySensitive() bool { return true }

// CheckRule, as a Diagnostic's Extra, indicates a failed condition of the object at Address.
type CheckRule struct{ Address string }

// Deprecation, as a Diagnostic's Extra, indicates the use of a deprecated object.
type Deprecation struct {
	Of     string // name of the deprecated object
	Source string // source address of the object's module, for filtering; "" for deprecations by providers
}

// Interrupted, as a Diagnostic's Extra, indicates that the user ended the operation.
type Interrupted struct{}

// StalePlan, as a Diagnostic's Extra, indicates that a saved plan no longer fits what it was made
// from, so that applying it again fails, too.
type StalePlan struct{}

// Crash, as a Diagnostic's Extra, holds a recovered panic and its stack.
type Crash struct {
	Problem any
	Stack   []byte
}

// CrashOf returns the crash for a value returned by recover. The deferred function must call it
// directly. A Crash that comes from another goroutine is returned unchanged, with its stack.
func CrashOf(problem any) Crash {
	if crash, ok := problem.(Crash); ok {
		return crash
	}
	return Crash{Problem: problem, Stack: debug.Stack()}
}

// InConfigBody returns the list with source ranges and addresses set. Each attribute path is
// converted to the range of the attribute in body, or to the body's missing-item range if the
// attribute is not set. Diagnostics that already have a range keep it. Placeless diagnostics get
// the position in their text instead.
func (d Diagnostics) InConfigBody(body hcl.Body, addr string) Diagnostics {
	return d.Map(func(one *Diagnostic) {
		if one.Address == "" {
			one.Address = addr
		}
		if one.Subject != nil || body == nil {
			return
		}
		rng := body.MissingItemRange()
		if one.Path != nil {
			rng = rangeInBody(body, one.Path)
		}
		if one.Placeless {
			*one = one.InText(rng)
		} else {
			one.Subject = &rng
		}
	})
}
