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

// UnusedAttributes warns about attributes in object constructors that are dropped in the conversion
// to ty. Usually their names are misspelled. It checks nested constructors too.
func UnusedAttributes(expr hcl.Expression, ty cty.Type, warn tfdiags.Sink) {
	if made, ok := expr.(*hclsyntax.ForExpr); ok && ty.IsCollectionType() {
		UnusedAttributes(made.ValExpr, ty.ElementType(), warn)
		return
	}
	// Only literal objects, maps and lists are checked. Computed values may have further attributes
	// on purpose.
	switch {
	case ty.IsObjectType():
		for _, pair := range pairsOf(expr) {
			key, diags := pair.Key.Value(nil)
			if diags.HasErrors() || key.Type() != cty.String || key.IsNull() || !key.IsKnown() {
				continue
			}
			name := key.AsString()
			if ty.HasAttribute(name) {
				UnusedAttributes(pair.Value, ty.AttributeType(name), warn)
				continue
			}
			warn(tfdiags.Warningf("Object attribute is ignored",
				"The variable's type has no attribute %q, so this value is ignored.%s",
				name, suggest.DidYouMean(name, slices.Sorted(maps.Keys(ty.AttributeTypes())))).At(pair.Key.Range()))
		}
	case ty.IsMapType():
		for _, pair := range pairsOf(expr) {
			if _, diags := pair.Key.Value(nil); diags.HasErrors() {
				continue // the map key is dynamic
			}
			UnusedAttributes(pair.Value, ty.ElementType(), warn)
		}
	case ty.IsListType() || ty.IsSetType():
		for _, item := range itemsOf(expr) {
			UnusedAttributes(item, ty.ElementType(), warn)
		}
	case ty.IsTupleType():
		for i, item := range itemsOf(expr) {
			if i < ty.Length() {
				UnusedAttributes(item, ty.TupleElementType(i), warn)
			}
		}
	}
}

func pairsOf(expr hcl.Expression) []hcl.KeyValuePair {
	pairs, diags := hcl.ExprMap(expr)
	if diags.HasErrors() || json.IsJSONExpression(expr) { // JSON is usually generated, so don't warn
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
