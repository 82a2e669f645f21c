package configs

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// unquote converts a reference or keyword in quotes, as in old configurations, to the expression
// inside the quotes. It warns about the quotes, and adds an error if the string can't be parsed.
// Other expressions are returned unchanged. So are strings in JSON, where references always have
// quotes.
func (d *decoder) unquote(expr hcl.Expression, what string) hcl.Expression {
	if key, ok := expr.(*hclsyntax.ObjectConsKeyExpr); ok && !key.ForceNonLiteral {
		expr = key.Wrapped
	}
	tmpl, ok := expr.(*hclsyntax.TemplateExpr)
	if !ok {
		return expr
	}
	val, diags := tmpl.Value(nil)
	if diags.HasErrors() || val.IsNull() || val.Type() != cty.String {
		return expr
	}
	start := tmpl.Range().Start
	start.Column, start.Byte = start.Column+1, start.Byte+1 // skip the opening quote
	traversal, diags := hclsyntax.ParseTraversalAbs([]byte(val.AsString()), tmpl.Range().Filename, start)
	d.addHCL(diags)
	d.warnf(tmpl.Range(), "Quoted "+what+" are deprecated",
		"In this context, %s must be written without quotes. Quotes are accepted only for compatibility with "+
			"old configurations. Remove the quotes.", what)
	return &hclsyntax.ScopeTraversalExpr{Traversal: traversal, SrcRange: tmpl.Range()}
}

// keyword decodes a bare word. A word in quotes causes a warning.
func (d *decoder) keyword(expr hcl.Expression) string {
	return hcl.ExprAsKeyword(d.unquote(expr, "keywords"))
}

// traversals decodes a static list of references.
func (d *decoder) traversals(attr *hcl.Attribute) []hcl.Traversal {
	exprs, diags := hcl.ExprList(attr.Expr)
	d.addHCL(diags)
	var out []hcl.Traversal
	for _, expr := range exprs {
		traversal, diags := hcl.AbsTraversalForExpr(d.unquote(expr, "references"))
		d.addReference(expr, diags)
		if len(traversal) > 0 {
			out = append(out, traversal)
		}
	}
	return out
}
