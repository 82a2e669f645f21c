package configs

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// UnusedAttributes warns about attributes in object constructors that conversion to ty drops, which
// usually are misspelled names. It checks nested constructors too.
func UnusedAttributes(expr hcl.Expression, ty cty.Type) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	if made, ok := expr.(*hclsyntax.ForExpr); ok && ty.IsCollectionType() {
		return UnusedAttributes(made.ValExpr, ty.ElementType())
	}
	// Attributes of computed values are dropped silently.
	switch {
	case ty.IsObjectType():
		for _, pair := range pairsOf(expr) {
			key, keyDiags := pair.Key.Value(nil)
			if keyDiags.HasErrors() || key.Type() != cty.String || key.IsNull() || !key.IsKnown() {
				continue
			}
			name := key.AsString()
			if ty.HasAttribute(name) {
				diags = append(diags, UnusedAttributes(pair.Value, ty.AttributeType(name))...)
				continue
			}
			diags = append(diags, tfdiags.Warningf("Object attribute is ignored",
				"The variable's type has no attribute %q, so this value is ignored.%s",
				name, suggest.DidYouMean(name, slices.Sorted(maps.Keys(ty.AttributeTypes())))).At(pair.Key.Range()))
		}
	case ty.IsMapType():
		for _, pair := range pairsOf(expr) {
			if _, keyDiags := pair.Key.Value(nil); keyDiags.HasErrors() {
				continue // the map key is dynamic
			}
			diags = append(diags, UnusedAttributes(pair.Value, ty.ElementType())...)
		}
	case ty.IsListType() || ty.IsSetType():
		for _, item := range itemsOf(expr) {
			diags = append(diags, UnusedAttributes(item, ty.ElementType())...)
		}
	case ty.IsTupleType():
		for i, item := range itemsOf(expr) {
			if i < ty.Length() {
				diags = append(diags, UnusedAttributes(item, ty.TupleElementType(i))...)
			}
		}
	}
	return diags
}

func pairsOf(expr hcl.Expression) []hcl.KeyValuePair {
	pairs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() || json.IsJSONExpression(expr) { // JSON is usually generated
		return nil
	}
	return pairs
}

func itemsOf(expr hcl.Expression) []hcl.Expression {
	items, diags := hcl.ExprList(expr)
	if diags.HasErrors() {
		return nil
	}
	return items
}
