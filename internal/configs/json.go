package configs

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

// jsonText returns the text of a JSON string that contains native syntax, and its position.
func jsonText(expr hcl.Expression) (string, hcl.Pos, bool) {
	if !json.IsJSONExpression(expr) {
		return "", hcl.Pos{}, false
	}
	// Without an evaluation context, a JSON string evaluates to its literal content. Templates in
	// it stay unevaluated.
	val, diags := expr.Value(nil)
	if diags.HasErrors() || val.IsNull() || val.Type() != cty.String {
		return "", hcl.Pos{}, false
	}
	return val.AsString(), expr.Range().Start, true
}

// nativeExpr parses the reference that a JSON string contains. It is for arguments whose value must
// be a reference, so the string is not a template. Expressions in native syntax are returned
// unchanged.
func (d *decoder) nativeExpr(expr hcl.Expression) hcl.Expression {
	if !json.IsJSONExpression(expr) {
		return expr
	}
	text, start, ok := jsonText(expr)
	if !ok {
		d.errorf(expr.Range(), "Expected string expression", "In JSON syntax, a reference must be written as a string.")
		return nil
	}
	inner, diags := hclsyntax.ParseExpression([]byte(text), expr.Range().Filename, start)
	if adviseReference(expr, diags) {
		diags[0].Summary = "Invalid reference" // not about an invalid character
	}
	d.addHCL(diags)
	if diags.HasErrors() {
		return nil
	}
	return inner
}

// addReference adds what is wrong with an expression that should be a reference.
func (d *decoder) addReference(expr hcl.Expression, diags hcl.Diagnostics) {
	adviseReference(expr, diags)
	d.addHCL(diags)
}

// adviseReference makes the first of some errors say how a reference is written in JSON, if the expression is a JSON
// string with a reference as a template. It reports whether it is.
func adviseReference(expr hcl.Expression, diags hcl.Diagnostics) bool {
	text, start, ok := jsonText(expr)
	inner, isTemplate := strings.CutPrefix(strings.TrimSpace(text), "${")
	if !ok || !isTemplate || !diags.HasErrors() {
		return false
	}
	inner = strings.TrimSpace(strings.TrimSuffix(inner, "}"))
	reference, problems := hclsyntax.ParseExpression([]byte(inner), expr.Range().Filename, start)
	switch reference.(type) {
	case *hclsyntax.ScopeTraversalExpr, *hclsyntax.RelativeTraversalExpr, *hclsyntax.IndexExpr:
	default:
		return false
	}
	if !problems.HasErrors() {
		diags[0].Detail = fmt.Sprintf("In JSON syntax, a reference is written without ${ and }, as %q.", inner)
	}
	return !problems.HasErrors()
}

// nativeTemplate returns a native expression for a JSON value: a template for a string, or the value
// itself if it refers to nothing. Other values are an error.
func (d *decoder) nativeTemplate(expr hcl.Expression, argument string) hcl.Expression {
	if text, start, ok := jsonText(expr); ok {
		inner, diags := hclsyntax.ParseTemplate([]byte(text), expr.Range().Filename, start)
		d.addHCL(diags)
		if diags.HasErrors() {
			return expr
		}
		return inner
	}
	if v, diags := expr.Value(nil); len(expr.Variables()) == 0 && !diags.HasErrors() {
		return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: expr.Range()}
	}
	d.errorf(expr.Range(), "Unsupported JSON value", "In JSON syntax, write %s as one string that is a template, such as "+
		"\"${[var.a, var.b]}\", because it is converted to a type.", argument)
	return expr
}
