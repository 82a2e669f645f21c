package configs

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

// jsonText gives the text of a JSON string that stands for native syntax, and where it starts.
func jsonText(expr hcl.Expression) (string, hcl.Pos, bool) {
	if !json.IsJSONExpression(expr) {
		return "", hcl.Pos{}, false
	}
	// Evaluated without a context, a JSON string is its own text, templates not looked into.
	val, diags := expr.Value(nil)
	if diags.HasErrors() || val.IsNull() || val.Type() != cty.String {
		return "", hcl.Pos{}, false
	}
	return val.AsString(), expr.Range().Start, true
}

// nativeExpr gives the reference that a JSON string holds in native syntax; an expression of native syntax stays as it is. JSON has
// only strings to write references in: where a value is wanted they are templates, where a reference is wanted they are not.
func (d *decoder) nativeExpr(expr hcl.Expression) hcl.Expression {
	if !json.IsJSONExpression(expr) {
		return expr
	}
	text, start, ok := jsonText(expr)
	if !ok {
		d.errorf(expr.Range(), "Expected string expression", "In JSON this is a string that holds a reference.")
		return nil
	}
	inner, diags := hclsyntax.ParseExpression([]byte(text), expr.Range().Filename, start)
	d.addHCL(diags)
	if diags.HasErrors() {
		return nil
	}
	return inner
}
