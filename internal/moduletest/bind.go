package moduletest

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// bindRuns returns a body for the module under test in which run.NAME refers to the outputs of
// earlier runs. All other references in the body are evaluated in the module.
func (f *fileRun) bindRuns(body hcl.Body) hcl.Body { return &boundBody{body, f} }

type boundBody struct {
	hcl.Body
	file *fileRun
}

// Content implements hcl.Body.
func (b *boundBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diags := b.Body.Content(schema)
	return b.content(content), diags
}

// PartialContent implements hcl.Body.
func (b *boundBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, rest, diags := b.Body.PartialContent(schema)
	return b.content(content), b.file.bindRuns(rest), diags
}

// JustAttributes implements hcl.Body.
func (b *boundBody) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	attrs, diags := b.Body.JustAttributes()
	return b.attributes(attrs), diags
}

func (b *boundBody) content(content *hcl.BodyContent) *hcl.BodyContent {
	if content == nil {
		return nil
	}
	out := *content
	out.Attributes = b.attributes(content.Attributes)
	out.Blocks = make(hcl.Blocks, len(content.Blocks))
	for i, block := range content.Blocks {
		bound := *block
		bound.Body = b.file.bindRuns(block.Body)
		out.Blocks[i] = &bound
	}
	return &out
}

func (b *boundBody) attributes(attrs hcl.Attributes) hcl.Attributes {
	out := make(hcl.Attributes, len(attrs))
	for name, attr := range attrs {
		bound := *attr
		bound.Expr = &boundExpr{attr.Expr, b.file}
		out[name] = &bound
	}
	return out
}

type boundExpr struct {
	hcl.Expression
	file *fileRun
}

func isRun(tr hcl.Traversal) bool { return !tr.IsRelative() && tr.RootName() == "run" }

// Variables implements hcl.Expression. It omits references to runs, which the module doesn't know.
func (e *boundExpr) Variables() []hcl.Traversal {
	return slices.DeleteFunc(slices.Clone(funcs.Variables(e.Expression)), isRun)
}

// UnwrapExpression returns the expression as written, so that its function calls can be found.
func (e *boundExpr) UnwrapExpression() hcl.Expression { return e.Expression }

// Value implements hcl.Expression.
func (e *boundExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	for _, tr := range e.Expression.Variables() {
		if name := secondName(tr); isRun(tr) && name != "" {
			if err := e.file.checkRun(name, tr.SourceRange()); err != nil {
				return cty.DynamicVal, tfdiags.FromError(err).HCL()
			}
		}
	}
	inner := &hcl.EvalContext{}
	if ctx != nil {
		inner = ctx.NewChild()
	}
	inner.Variables = map[string]cty.Value{"run": e.file.runsObject()}
	return e.Expression.Value(inner)
}
