package ui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// involvedValues returns the values of the references in the failing expression, by name. For a
// reference that can't be evaluated, it returns the value of the longest prefix that can. It
// mentions sensitive values, and unknown values of unknown type, only if they are the cause of the
// error. It never mentions ephemeral values.
func involvedValues(d tfdiags.Diagnostic) []snippetValue {
	var out []snippetValue
	seen := make(map[string]bool)
	for _, tr := range d.Expression.Variables() {
		for n := len(tr); n > 0; n-- {
			part := tr[:n]
			v, diags := part.TraverseAbs(d.EvalContext)
			if diags.HasErrors() {
				continue
			}
			text := traversalText(part)
			// Skip names such as "var" alone.
			if n == 1 && len(tr) > 1 && !isLocalName(d.EvalContext, text) || seen[text] {
				break
			}
			seen[text] = true
			if statement := statementAbout(v, d); statement != "" {
				out = append(out, snippetValue{text, statement})
			}
			break
		}
	}
	slices.SortFunc(out, func(a, b snippetValue) int { return strings.Compare(a.Traversal, b.Traversal) })
	return out
}

// isLocalName reports whether name is defined within the expression itself, as in a "for"
// expression.
func isLocalName(ctx *hcl.EvalContext, name string) bool {
	for ; ctx != nil && ctx.Parent() != nil; ctx = ctx.Parent() {
		if _, ok := ctx.Variables[name]; ok {
			return true
		}
	}
	return false
}

func traversalText(tr hcl.Traversal) string {
	rest, ok := addrs.StepsText(tr[1:])
	if !ok {
		rest = "[...]"
	}
	return tr.RootName() + rest
}

func statementAbout(v cty.Value, d tfdiags.Diagnostic) string {
	switch {
	case marks.Has(v, marks.Ephemeral):
		return ""
	case marks.Has(v, marks.Sensitive):
		if extraReports(d, causedBySensitive.DiagnosticCausedBySensitive) {
			return "has a sensitive value"
		}
		return ""
	}
	v, _ = v.Unmark()
	if !v.IsKnown() {
		return statementAboutUnknown(v.Type(), d)
	}
	if v.IsNull() {
		return "is null"
	}
	return "is " + brief(v)
}

// The Extra field of a diagnostic may have these methods, which say why the diagnostic was
// reported.
type (
	causedBySensitive interface{ DiagnosticCausedBySensitive() bool }
	causedByUnknown   interface{ DiagnosticCausedByUnknown() bool }
)

// extraReports calls question with the part of the diagnostic's Extra field that has type T,
// and returns the result. It returns false if there is no such part.
func extraReports[T any](d tfdiags.Diagnostic, question func(T) bool) bool {
	extra, ok := hcl.DiagnosticExtra[T](&hcl.Diagnostic{Extra: d.Extra})
	return ok && question(extra)
}

func statementAboutUnknown(ty cty.Type, d tfdiags.Diagnostic) string {
	caused := extraReports(d, causedByUnknown.DiagnosticCausedByUnknown)
	switch {
	case ty == cty.DynamicPseudoType && caused:
		return "is known only after apply"
	case ty == cty.DynamicPseudoType:
		return ""
	case caused:
		return "is " + lang.WithArticle(ty.FriendlyName()) + ", known only after apply"
	}
	return "is " + lang.WithArticle(ty.FriendlyName())
}

// brief describes a known value in a few words: a primitive value by itself, and any other
// value by its type and size.
func brief(v cty.Value) string {
	ty := v.Type()
	switch {
	case ty == cty.Bool:
		if v.True() {
			return "true"
		}
		return "false"
	case ty == cty.Number:
		return v.AsBigFloat().Text('g', 10)
	case ty == cty.String:
		return fmt.Sprintf("%q", v.AsString())
	case ty.IsCollectionType():
		kind := ty.FriendlyName()
		if v.LengthInt() == 0 {
			return "empty " + kind
		}
		return kind + " with " + Count(v.LengthInt(), "element")
	case ty.IsTupleType():
		if ty.Length() == 0 {
			return "empty tuple"
		}
		return "tuple with " + Count(ty.Length(), "element")
	case ty.IsObjectType():
		names := slices.Sorted(maps.Keys(ty.AttributeTypes()))
		switch len(names) {
		case 0:
			return "object with no attributes"
		case 1:
			return fmt.Sprintf("object with 1 attribute %q", names[0])
		}
		return "object with " + Count(len(names), "attribute")
	}
	return "a value that can't be shown"
}

// Count returns a number with a noun: "1 element" or "2 elements".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
