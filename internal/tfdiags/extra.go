package tfdiags

import (
	"runtime/debug"

	"github.com/hashicorp/hcl/v2"
)

// CausedByUnknown, as a Diagnostic's Extra, marks a problem that comes from a value which is known only after apply.
type CausedByUnknown struct{}

// DiagnosticCausedByUnknown is HCL's way to ask (through hcl.DiagnosticExtra).
func (CausedByUnknown) DiagnosticCausedByUnknown() bool { return true }

// CausedBySensitive, as a Diagnostic's Extra, marks a problem that comes from a sensitive value.
type CausedBySensitive struct{}

// DiagnosticCausedBySensitive is the same question for sensitive values.
func (CausedBySensitive) DiagnosticCausedBySensitive() bool { return true }

// CheckRule, as a Diagnostic's Extra, marks a failed condition and names the object whose condition it is.
type CheckRule struct{ Address string }

// Deprecation, as a Diagnostic's Extra, marks a warning that something is used which its module wants to get rid of.
type Deprecation struct {
	Of     string // what is deprecated
	Source string // where the module comes from, for users who only care about their own modules; "" for what a provider deprecates
}

// Crash, as a Diagnostic's Extra, is what a mistake of the program left behind: what it panicked with, and where.
type Crash struct {
	Problem any
	Stack   []byte
}

// CrashOf is the crash that recover tells of, when a deferred function calls it. One that another goroutine has handed on has its
// stack already.
func CrashOf(problem any) Crash {
	if crash, ok := problem.(Crash); ok {
		return crash
	}
	return Crash{Problem: problem, Stack: debug.Stack()}
}

// InConfigBody gives the list with each attribute path turned into the place in body where that attribute is set, or the body's
// own missing-item place where it isn't set; diagnostics that have a place already stay as they are, and those that may have none get
// it into their text.
func (d Diagnostics) InConfigBody(body hcl.Body, addr string) Diagnostics {
	return d.Each(func(one *Diagnostic) {
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
