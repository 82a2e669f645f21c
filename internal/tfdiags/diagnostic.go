package tfdiags

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Severity is the severity of a diagnostic.
type Severity uint8

const (
	Error   Severity = iota + 1 // the operation can't succeed
	Warning                     // the operation continues
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Diagnostic is an error or warning for users.
type Diagnostic struct {
	Severity Severity
	Summary  string // one short line without a full stop
	Detail   string // full sentences: the problem and its solution

	Subject *hcl.Range // source range of the problem; may be nil
	Context *hcl.Range // larger range to show around Subject; may be nil

	// Expression and EvalContext, if set, let renderers show the values in the expression.
	Expression  hcl.Expression
	EvalContext *hcl.EvalContext

	// Address is the address of the affected object, such as "lab_object.a[0]"; may be "".
	Address string

	// Path is the path of the attribute that caused a provider's diagnostic, relative to the
	// object's body. InConfigBody converts it to a Subject.
	Path cty.Path

	// Placeless prevents InConfigBody from setting Subject. It is set if the output must have no
	// source range to be compatible with OpenTofu. The detail then contains the position.
	Placeless bool

	// Extra holds further information for programs: one of the types in extra.go.
	Extra any
}

// Diagnostics is a list of diagnostics in the order in which they were found. The zero value is
// ready to use.
type Diagnostics []Diagnostic

// Append returns the list with items appended.
func (d Diagnostics) Append(items ...Diagnostic) Diagnostics { return append(d, items...) }

// AppendHCL returns the list with HCL diagnostics appended.
func (d Diagnostics) AppendHCL(items hcl.Diagnostics) Diagnostics {
	for _, item := range items {
		d = append(d, fromHCL(item))
	}
	return d
}

// AppendError returns the list with the diagnostics in err appended. For any other error, it
// appends one diagnostic with the text of err as its summary, or that the operation was interrupted if its
// context was canceled. For a nil error, it returns the list.
func (d Diagnostics) AppendError(err error) Diagnostics {
	if err == nil {
		return d
	}
	if list, ok := errors.AsType[*diagnosticsError](err); ok {
		return append(d, list.diags...)
	}
	if one, ok := errors.AsType[Diagnostic](err); ok {
		return append(d, one)
	}
	if errors.Is(err, context.Canceled) {
		one := Diagnostic{Severity: Error, Summary: "Operation interrupted", Detail: "It was not finished.", Extra: Interrupted{}}
		if step, found := strings.CutSuffix(err.Error(), ": "+context.Canceled.Error()); found {
			one.Detail = "This was not finished: " + step + "."
		}
		return append(d, one)
	}
	return append(d, Diagnostic{Severity: Error, Summary: Capitalize(err.Error())})
}

// FromHCL converts HCL diagnostics.
func FromHCL(items hcl.Diagnostics) Diagnostics { return Diagnostics(nil).AppendHCL(items) }

// FromError returns the diagnostics that [Diagnostics.AppendError] appends.
func FromError(err error) Diagnostics { return Diagnostics(nil).AppendError(err) }

func fromHCL(in *hcl.Diagnostic) Diagnostic {
	out := Diagnostic{
		Severity: Error, Summary: in.Summary, Detail: in.Detail, Subject: in.Subject, Context: in.Context,
		Expression: in.Expression, EvalContext: in.EvalContext, Extra: in.Extra,
	}
	if in.Severity == hcl.DiagWarning {
		out.Severity = Warning
	}
	return out
}

// HCL converts the list to HCL diagnostics.
func (d Diagnostics) HCL() hcl.Diagnostics {
	out := make(hcl.Diagnostics, len(d))
	for i, one := range d {
		sev := hcl.DiagError
		if one.Severity == Warning {
			sev = hcl.DiagWarning
		}
		out[i] = &hcl.Diagnostic{
			Severity: sev, Summary: one.Summary, Detail: one.Detail, Subject: one.Subject, Context: one.Context,
			Expression: one.Expression, EvalContext: one.EvalContext, Extra: one.Extra,
		}
	}
	return out
}

// HasErrors reports whether the list contains an error.
func (d Diagnostics) HasErrors() bool {
	for _, one := range d {
		if one.Severity == Error {
			return true
		}
	}
	return false
}

// Err returns the list as an error value, or nil if it contains no errors.
// [Diagnostics.AppendError] does the reverse.
func (d Diagnostics) Err() error {
	if !d.HasErrors() {
		return nil
	}
	return &diagnosticsError{d}
}

// Report passes the warnings in the list to warn, unless warn is nil. It returns the errors in the
// list as an error value, or nil if there are none.
func (d Diagnostics) Report(warn Sink) error {
	if len(d) == 0 {
		return nil
	}
	isWarning := func(one Diagnostic) bool { return one.Severity == Warning }
	isError := func(one Diagnostic) bool { return one.Severity == Error }
	if warnings := d.Filter(isWarning); warn != nil && len(warnings) > 0 {
		warn(warnings...)
	}
	return d.Filter(isError).Err()
}

// Add appends items to the list in place. Its method value is a [Sink].
func (d *Diagnostics) Add(items ...Diagnostic) { *d = append(*d, items...) }

// Sink receives warnings while a function runs. The function's documentation says whether the
// sink must be safe for concurrent use.
type Sink func(...Diagnostic)

// Drop is a [Sink] that discards warnings, for callers whose warnings are reported elsewhere.
func Drop(...Diagnostic) {}

// Join returns an error with the diagnostics of all errs in order, or nil if all errs are nil.
func Join(errs ...error) error {
	var diags Diagnostics
	for _, err := range errs {
		diags = diags.AppendError(err)
	}
	return diags.Err()
}

// MapError returns err with its diagnostics replaced by the result of change. If err is nil or the
// result contains no errors, it returns nil.
func MapError(err error, change func(Diagnostics) Diagnostics) error {
	if err == nil {
		return nil
	}
	return change(FromError(err)).Err()
}

// Map returns a copy of the list with a change made to each diagnostic.
func (d Diagnostics) Map(change func(*Diagnostic)) Diagnostics {
	d = slices.Clone(d)
	for i := range d {
		change(&d[i])
	}
	return d
}

// Filter returns the diagnostics for which keep returns true.
func (d Diagnostics) Filter(keep func(Diagnostic) bool) Diagnostics {
	drop := func(one Diagnostic) bool { return !keep(one) }
	if !slices.ContainsFunc(d, drop) {
		return d
	}
	return slices.DeleteFunc(slices.Clone(d), drop)
}

// AsWarnings returns the list with all errors changed to warnings.
func (d Diagnostics) AsWarnings() Diagnostics {
	return d.Map(func(one *Diagnostic) { one.Severity = Warning })
}

// WithAddress returns the list with addr set in all diagnostics that have no address.
func (d Diagnostics) WithAddress(addr string) Diagnostics {
	return d.Map(func(one *Diagnostic) {
		if one.Address == "" {
			one.Address = addr
		}
	})
}

// Dedup returns the diagnostics that are not in others. A diagnostic is in others if one of them
// has the same text and source range, and the same address or no address.
func (d Diagnostics) Dedup(others Diagnostics) Diagnostics {
	type identity struct {
		severity                 Severity
		summary, detail, address string
		subject                  hcl.Range
	}
	key := func(one Diagnostic) identity {
		k := identity{severity: one.Severity, summary: one.Summary, detail: one.Detail, address: one.Address}
		if one.Subject != nil {
			k.subject = *one.Subject
		}
		return k
	}
	known := make(map[identity]bool, len(others))
	for _, one := range others {
		known[key(one)] = true
	}
	return d.Filter(func(one Diagnostic) bool {
		k := key(one)
		withoutAddress := k
		withoutAddress.address = ""
		return !known[k] && !known[withoutAddress]
	})
}

// Once returns the list without repetitions of diagnostics that have neither a source range nor an address. They say
// the same of everything that reports them.
func (d Diagnostics) Once() (out Diagnostics) {
	type text struct{ summary, detail string }
	seen := map[text]bool{}
	for _, one := range d {
		k, placed := text{one.Summary, one.Detail}, one.Subject != nil || one.Address != ""
		if placed || !seen[k] {
			out = append(out, one)
		}
		seen[k] = seen[k] || !placed
	}
	return out
}

// Sort sorts the list in place by severity (warnings first, because they are printed first), file
// and position. The sort is stable.
func (d Diagnostics) Sort() {
	sort.SliceStable(d, func(i, j int) bool {
		a, b := d[i], d[j]
		switch {
		case a.Severity != b.Severity:
			return a.Severity > b.Severity
		case (a.Subject == nil) != (b.Subject == nil):
			return a.Subject == nil
		case a.Subject == nil:
			return false
		case a.Subject.Filename != b.Subject.Filename:
			return a.Subject.Filename < b.Subject.Filename
		}
		return a.Subject.Start.Byte < b.Subject.Start.Byte
	})
}

// Errorf returns an error without a source range.
func Errorf(summary, detail string, args ...any) Diagnostic {
	return Diagnostic{Severity: Error, Summary: summary, Detail: fmt.Sprintf(detail, args...)}
}

// Warningf returns a warning without a source range.
func Warningf(summary, detail string, args ...any) Diagnostic {
	return Diagnostic{Severity: Warning, Summary: summary, Detail: fmt.Sprintf(detail, args...)}
}

// List returns a list that contains only d.
func (d Diagnostic) List() Diagnostics { return Diagnostics{d} }

// Err returns d as an error value, or nil if d is a warning.
func (d Diagnostic) Err() error { return d.List().Err() }

// Error returns the source range, summary and detail in one line. It implements the error
// interface.
func (d Diagnostic) Error() string {
	text := d.Summary
	if d.Subject != nil {
		text = Place(*d.Subject) + ": " + text
	}
	if d.Detail != "" {
		text += ": " + d.Detail
	}
	return text
}

// At returns d with rng as its Subject.
func (d Diagnostic) At(rng hcl.Range) Diagnostic {
	d.Subject = &rng
	return d
}

// Place returns a source range as FILE:LINE, for messages.
func Place(rng hcl.Range) string { return fmt.Sprintf("%s:%d", rng.Filename, rng.Start.Line) }

// InText returns d with the position rng at the end of its detail, for output that must have no
// source range to be compatible with OpenTofu.
func (d Diagnostic) InText(rng hcl.Range) Diagnostic {
	if place := "(" + Place(rng) + ")"; !strings.HasSuffix(d.Detail, place) {
		d.Detail = strings.TrimLeft(d.Detail+" "+place, " ")
	}
	return d
}

type diagnosticsError struct{ diags Diagnostics }

func (e *diagnosticsError) Error() string {
	var texts []string
	for _, one := range e.diags {
		if one.Severity == Error {
			texts = append(texts, one.Error())
		}
	}
	return strings.Join(texts, "; ")
}
