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
	Source string // source address of the object's module, for filtering; "" if a provider declares the deprecation
}

// Interrupted, as a Diagnostic's Extra, indicates that the user ended the operation.
type Interrupted struct{}

// StalePlan, as a Diagnostic's Extra, indicates that the state has changed since a saved plan was
// created, so that applying the plan again fails, too.
type StalePlan struct{}

// Crash, as a Diagnostic's Extra, holds a recovered panic and its stack.
type Crash struct {
	Problem any
	Stack   []byte
}

// CrashOf returns the crash with a value that recover has returned. The deferred function must call
// CrashOf directly. If the value is a Crash from another goroutine, it is returned unchanged, with
// its stack.
func CrashOf(problem any) Crash {
	if crash, ok := problem.(Crash); ok {
		return crash
	}
	return Crash{Problem: problem, Stack: debug.Stack()}
}

// InConfigBody returns the list with source ranges and addresses set. The range is that of the
// attribute at the diagnostic's path in body, or the body's missing-item range if the attribute is
// not set. Diagnostics that already have a range keep it. In placeless diagnostics, the position is
// added to the detail instead.
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
