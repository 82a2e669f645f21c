package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/funcs"
	"tofu/internal/lang/marks"
	"tofu/internal/suggest"
)

// NoElement is HCL's message about a key that a collection doesn't have.
const NoElement = "The given key does not identify an element in this collection value."

// maxKeys is the largest number of keys that an error lists.
const maxKeys = 10

// explain adds to errors about missing keys, indexes and attributes which ones there are, and makes those of values
// with a declared type name no function.
func explain(diags hcl.Diagnostics) hcl.Diagnostics {
	out := slices.Clone(diags)
	for i, d := range diags {
		if funcs.OfConverted(d) {
			explained := *d
			explained.Summary, explained.Extra = "Invalid value for the declared type", nil
			explained.Detail = strings.Replace(d.Detail, "Invalid value for \"value\" parameter", "The value doesn't have the type", 1)
			out[i] = &explained
			continue
		}
		if d.EvalContext == nil || d.Subject == nil {
			continue
		}
		of, key := searched(d)
		noun := "key"
		if d.Summary == "Unsupported attribute" {
			noun = "attribute"
		}
		if text := describeElements(of, key, noun); text != "" {
			explained := *d
			explained.Detail = strings.TrimSpace(d.Detail) + " " + text
			out[i] = &explained
		}
	}
	return out
}

// searched returns the value that lacks a key, and the key. The value is cty.NilVal if the error is about
// something else.
func searched(d *hcl.Diagnostic) (of, key cty.Value) {
	switch d.Summary {
	case "Invalid index", "Missing map element", "Unsupported attribute":
	case "Error in function call", "Invalid function argument":
		call, ok := d.Expression.(*hclsyntax.FunctionCallExpr)
		if ok && call.Name == "lookup" && len(call.Args) == 2 {
			return valuesOf(d.EvalContext, call.Args[0], call.Args[1])
		}
		return cty.NilVal, cty.NilVal
	default:
		return cty.NilVal, cty.NilVal
	}
	switch e := d.Expression.(type) {
	case *hclsyntax.IndexExpr:
		return valuesOf(d.EvalContext, e.Collection, e.Key)
	case *hclsyntax.ScopeTraversalExpr:
		at := stepAt(e.Traversal, *d.Subject)
		if at < 1 {
			return cty.NilVal, cty.NilVal
		}
		v, diags := e.Traversal[:at].TraverseAbs(d.EvalContext)
		return known(v, diags), stepKey(e.Traversal[at])
	case *hclsyntax.RelativeTraversalExpr:
		at := stepAt(e.Traversal, *d.Subject)
		v, diags := e.Source.Value(d.EvalContext)
		if at < 0 || diags.HasErrors() {
			return cty.NilVal, cty.NilVal
		}
		if at > 0 {
			v, diags = e.Traversal[:at].TraverseRel(v)
		}
		return known(v, diags), stepKey(e.Traversal[at])
	}
	return cty.NilVal, cty.NilVal
}

func valuesOf(ctx *hcl.EvalContext, collection, key hcl.Expression) (cty.Value, cty.Value) {
	of, diags := collection.Value(ctx)
	k, keyDiags := key.Value(ctx)
	return known(of, diags), known(k, keyDiags)
}

// known returns v without marks, or cty.NilVal if v isn't known or must not be shown.
func known(v cty.Value, diags hcl.Diagnostics) cty.Value {
	if diags.HasErrors() || v == cty.NilVal || marks.Has(v, marks.Sensitive) {
		return cty.NilVal
	}
	v, _ = v.UnmarkDeep()
	if v.IsNull() || !v.IsKnown() {
		return cty.NilVal
	}
	return v
}

// stepAt returns the position of the step that an error is about, or -1.
func stepAt(tr hcl.Traversal, subject hcl.Range) int {
	return slices.IndexFunc(tr, func(step hcl.Traverser) bool { return step.SourceRange() == subject })
}

func stepKey(step hcl.Traverser) cty.Value {
	switch step := step.(type) {
	case hcl.TraverseIndex:
		return step.Key
	case hcl.TraverseAttr:
		return cty.StringVal(step.Name)
	}
	return cty.NilVal
}

// describeElements returns a sentence about the keys, attributes or indexes of a value, or "" if it has
// none that may be shown.
func describeElements(of, key cty.Value, noun string) string {
	if of == cty.NilVal {
		return ""
	}
	switch ty := of.Type(); {
	case (ty.IsTupleType() || ty.IsListType()) && of.LengthInt() == 1:
		return "It has one element, whose index is 0."
	case (ty.IsTupleType() || ty.IsListType()) && of.LengthInt() > 1:
		return fmt.Sprintf("It has %d elements, with the indexes 0 to %d.", of.LengthInt(), of.LengthInt()-1)
	case !ty.IsObjectType() && !ty.IsMapType():
		return ""
	}
	var names, quoted []string
	for it := of.ElementIterator(); it.Next(); {
		k, _ := it.Element()
		names, quoted = append(names, k.AsString()), append(quoted, fmt.Sprintf("%q", k.AsString()))
	}
	switch n := len(names); {
	case n == 0:
		return fmt.Sprintf("It has no %ss.", noun)
	case n == 1:
		return fmt.Sprintf("It has only the %s %s.", noun, quoted[0])
	case n <= maxKeys:
		return fmt.Sprintf("It has the %ss %s.", noun, strings.Join(quoted, ", "))
	}
	near := ""
	if key != cty.NilVal && key.Type() == cty.String {
		near = suggest.DidYouMean(key.AsString(), names)
	}
	return fmt.Sprintf("It has the %ss %s and %d more.%s", noun, strings.Join(quoted[:maxKeys], ", "),
		len(names)-maxKeys, near)
}
