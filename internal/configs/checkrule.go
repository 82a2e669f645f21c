package configs

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/lang/funcs"
)

var checkRuleSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "condition", Required: true}, {Name: "error_message", Required: true}},
}

// checkRule decodes a block with a condition and an error message. It reports false if the block
// has errors.
func (d *decoder) checkRule(block *hcl.Block) (rule *CheckRule, ok bool) {
	before := len(d.errs)
	content := d.content(block.Body, checkRuleSchema)
	rule = &CheckRule{Range: block.DefRange}
	attr, ok := content.Attributes["condition"]
	if ok && unparsed(attr.Expr) {
		return rule, false // the parser has reported it
	}
	if ok {
		rule.Condition = attr.Expr
		// A condition without references checks nothing. Calls of impure functions, such as
		// timestamp, don't count as references.
		if len(funcs.Variables(attr.Expr)) == 0 {
			d.errorf(attr.Expr.Range(), fmt.Sprintf("Invalid %s expression", block.Type),
				"The condition refers to nothing in the configuration, so it checks nothing. It must refer to at "+
					"least one object, such as a resource or a variable.")
		}
	}
	if attr, ok := content.Attributes["error_message"]; ok {
		rule.ErrorMessage = attr.Expr
	}
	return rule, len(d.errs) == before
}

// unparsed reports whether an expression is what the parser returns after a syntax error.
func unparsed(expr hcl.Expression) bool {
	if literal, ok := expr.(*hclsyntax.LiteralValueExpr); ok {
		return !literal.Val.IsKnown()
	}
	_, ok := expr.(*hclsyntax.ExprSyntaxError)
	return ok
}

// checkSelfReference reports an error if a condition refers to the whole resource that it belongs to.
// Evaluating such a condition would need its own result first. A condition may refer to other
// instances of the resource, which then come first. The engine reports references to the same
// instance.
func (d *decoder) checkSelfReference(r *Resource, rule *CheckRule, kind string) {
	for _, expr := range []hcl.Expression{rule.Condition, rule.ErrorMessage} {
		if expr == nil {
			continue
		}
		refs := lang.Analyze(expr, addrs.ModuleScope).Refs // ignore refs.Problems, which evaluation reports
		for _, ref := range refs.Objects {
			repeats := r.Count != nil || r.ForEach != nil
			if ref.Whole() != addrs.Referenceable(r.Addr) || repeats && refs.SelectsInstance(ref) {
				continue
			}
			hint := ""
			if kind == "postcondition" {
				hint = " Write \"self\" to refer to the object itself."
			}
			if repeats {
				hint += " Only references to other instances, by their keys, are allowed."
			}
			d.errorf(ref.Range, "Invalid reference in "+kind,
				"Conditions and error messages of %s can't refer to it by name, because that would be a circular "+
					"reference.%s",
				r.Addr, hint)
		}
	}
}
