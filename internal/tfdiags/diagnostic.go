package tfdiags

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Severity tells whether a problem stops the operation.
type Severity uint8

const (
	Error   Severity = iota + 1 // the operation can't succeed
	Warning                     // the user should know, nothing stops
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Diagnostic is one problem, said so that a user can mend it.
type Diagnostic struct {
	Severity Severity
	Summary  string // one short line, no full stop
	Detail   string // full sentences: what is wrong and what to do

	Subject *hcl.Range // the place that is wrong; nil when there is none
	Context *hcl.Range // a larger place worth showing around Subject

	// Expression and EvalContext let a renderer show the values that took part; both or neither are set.
	Expression  hcl.Expression
	EvalContext *hcl.EvalContext

	// Address is the object the problem belongs to ("with lab_object.a[0]"); empty for none.
	Address string

	// Path is the attribute a provider complained about, relative to the object's body. InConfigBody turns it into a Subject.
	Path cty.Path

	// Placeless keeps InConfigBody from making a Subject: compatible output has none, so the detail names the place instead.
	Placeless bool

	// Extra says more about the cause for programs: one of the types in extra.go.
	Extra any
}

// Diagnostics is a list of problems in the order in which they were found. The zero value is ready for use.
type Diagnostics []Diagnostic

// Append returns the list with items added at its end.
func (d Diagnostics) Append(items ...Diagnostic) Diagnostics { return append(d, items...) }

// AppendHCL returns the list with HCL's diagnostics added at its end.
func (d Diagnostics) AppendHCL(items hcl.Diagnostics) Diagnostics {
	for _, item := range items {
		d = append(d, fromHCL(item))
	}
	return d
}

// AppendError returns the list with the diagnostics that err carries (see [Diagnostics.Err]), or with
// one that has err's text as its summary. A nil error adds nothing.
func (d Diagnostics) AppendError(err error) Diagnostics {
	if err == nil {
		return d
	}
	var carried *diagnosticsError
	if errors.As(err, &carried) {
		return append(d, carried.diags...)
	}
	return append(d, Diagnostic{Severity: Error, Summary: Capital(err.Error())})
}

// FromHCL returns HCL's diagnostics as Diagnostics.
func FromHCL(items hcl.Diagnostics) Diagnostics { return Diagnostics(nil).AppendHCL(items) }

// FromError returns what [Diagnostics.AppendError] adds to an empty list.
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

// HCL gives the diagnostics in HCL's form, for HCL's own writers and interfaces.
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

// HasErrors tells whether at least one of them is an error.
func (d Diagnostics) HasErrors() bool {
	for _, one := range d {
		if one.Severity == Error {
			return true
		}
	}
	return false
}

// Err gives the errors among them as one error value, or nil if there are none.
// [Diagnostics.AppendError] extracts the list.
func (d Diagnostics) Err() error {
	if !d.HasErrors() {
		return nil
	}
	return &diagnosticsError{d}
}

// Each gives a copy of the list with a change made to each: a list may be kept by whoever found the problems.
func (d Diagnostics) Each(change func(*Diagnostic)) Diagnostics {
	d = slices.Clone(d)
	for i := range d {
		change(&d[i])
	}
	return d
}

// Except gives a list without those that are such.
func (d Diagnostics) Except(such func(Diagnostic) bool) Diagnostics {
	if !slices.ContainsFunc(d, such) {
		return d
	}
	return slices.DeleteFunc(slices.Clone(d), such)
}

// AsWarnings gives the same list with every error turned into a warning.
func (d Diagnostics) AsWarnings() Diagnostics {
	return d.Each(func(one *Diagnostic) { one.Severity = Warning })
}

// WithAddress gives the same list with the object's address on each that has none yet.
func (d Diagnostics) WithAddress(addr string) Diagnostics {
	return d.Each(func(one *Diagnostic) {
		if one.Address == "" {
			one.Address = addr
		}
	})
}

// Without leaves out what others say as well: the same at the same place about the same object, or about none.
func (d Diagnostics) Without(others Diagnostics) Diagnostics {
	type said struct {
		severity                 Severity
		summary, detail, address string
		place                    hcl.Range
	}
	key := func(one Diagnostic) said {
		k := said{severity: one.Severity, summary: one.Summary, detail: one.Detail, address: one.Address}
		if one.Subject != nil {
			k.place = *one.Subject
		}
		return k
	}
	again := make(map[said]bool, len(others))
	for _, one := range others {
		again[key(one)] = true
	}
	return d.Except(func(one Diagnostic) bool {
		k := key(one)
		ofNone := k
		ofNone.address = ""
		return again[k] || again[ofNone]
	})
}

// Sort orders by severity (warnings first, as they are printed), file and line; equal ones keep their order.
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

// Errorf makes an error without a place.
func Errorf(summary, detail string, args ...any) Diagnostic {
	return Diagnostic{Severity: Error, Summary: summary, Detail: fmt.Sprintf(detail, args...)}
}

// Warningf makes a warning without a place.
func Warningf(summary, detail string, args ...any) Diagnostic {
	return Diagnostic{Severity: Warning, Summary: summary, Detail: fmt.Sprintf(detail, args...)}
}

// List returns a list of d alone.
func (d Diagnostic) List() Diagnostics { return Diagnostics{d} }

// Err returns d as an error value, or nil if d is a warning.
func (d Diagnostic) Err() error { return d.List().Err() }

// At returns the diagnostic with rng as its Subject.
func (d Diagnostic) At(rng hcl.Range) Diagnostic {
	d.Subject = &rng
	return d
}

// Place names a source range in the text of a message.
func Place(rng hcl.Range) string { return fmt.Sprintf("%s:%d", rng.Filename, rng.Start.Line) }

// InText gives the diagnostic with a place that only its text names, for what compatible output gives no place.
func (d Diagnostic) InText(rng hcl.Range) Diagnostic {
	if place := "(" + Place(rng) + ")"; !strings.HasSuffix(d.Detail, place) {
		d.Detail = strings.TrimLeft(d.Detail+" "+place, " ")
	}
	return d
}

type diagnosticsError struct{ diags Diagnostics }

func (e *diagnosticsError) Error() string {
	var b strings.Builder
	for _, one := range e.diags {
		if one.Severity != Error {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		if one.Subject != nil {
			b.WriteString(Place(*one.Subject) + ": ")
		}
		b.WriteString(one.Summary)
		if one.Detail != "" {
			b.WriteString(": " + one.Detail)
		}
	}
	return b.String()
}
