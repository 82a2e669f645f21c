package configs

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// unquote turns a reference or keyword that is written as a string, as old configurations do, into the expression it means, with a
// warning; what can't be read of it is left out. Other expressions, and the strings of JSON files (where there is no other way), stay as they are.
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
	start.Column, start.Byte = start.Column+1, start.Byte+1 // the opening quote
	traversal, diags := hclsyntax.ParseTraversalAbs([]byte(val.AsString()), tmpl.Range().Filename, start)
	d.addHCL(diags)
	d.warnf(tmpl.Range(), "Quoted "+what+" are deprecated",
		"In this context, %s are written without quotes; the form in quotes is accepted for old configurations only. Remove the quotes.", what)
	return &hclsyntax.ScopeTraversalExpr{Traversal: traversal, SrcRange: tmpl.Range()}
}

// keyword reads a bare word, or one in quotes with a warning.
func (d *decoder) keyword(expr hcl.Expression) string {
	return hcl.ExprAsKeyword(d.unquote(expr, "keywords"))
}

// traversals reads a static list of references.
func (d *decoder) traversals(attr *hcl.Attribute) []hcl.Traversal {
	exprs, diags := hcl.ExprList(attr.Expr)
	d.addHCL(diags)
	var out []hcl.Traversal
	for _, expr := range exprs {
		traversal, diags := hcl.AbsTraversalForExpr(d.unquote(expr, "references"))
		d.addHCL(diags)
		if len(traversal) > 0 {
			out = append(out, traversal)
		}
	}
	return out
}
