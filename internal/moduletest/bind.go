package moduletest

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// binding is what a body for the module under test can refer to in the test file: run.NAME is the
// outputs of an earlier run, and var.NAME a variable that the module doesn't declare. All other
// references in the body are evaluated in the module.
type binding struct {
	file *fileRun
	vars map[string]*found
}

// bind returns a body whose references to the test file are bound.
func (b *binding) bind(body hcl.Body) hcl.Body { return &boundBody{body, b} }

// binding returns the binding of a run. It evaluates the variables at once, because the engine
// evaluates bodies concurrently; only an expression that uses an invalid one has its error.
func (v *variables) binding() *binding {
	out := &binding{v.fileRun, map[string]*found{}}
	bind := func(name string) {
		if v.module.Variables[name] != nil {
			return
		}
		if value, err := v.ofRun(name); err != nil || value != cty.NilVal {
			out.vars[name] = &found{value: value, err: err}
		}
	}
	for _, set := range []map[string]hcl.Expression{v.file.Variables, v.run.Variables} {
		for name := range set {
			bind(name)
		}
	}
	for name := range v.file.Declared {
		bind(name)
	}
	return out
}

// binds reports whether a reference is to the test file.
func (b *binding) binds(tr hcl.Traversal) bool {
	return isRun(tr) || b.variable(tr) != nil
}

// variable returns the variable of the test file that tr refers to, or nil.
func (b *binding) variable(tr hcl.Traversal) *found {
	if tr.IsRelative() || tr.RootName() != "var" {
		return nil
	}
	return b.vars[secondName(tr)]
}

type boundBody struct {
	hcl.Body
	to *binding
}

// Content implements hcl.Body.
func (b *boundBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diags := b.Body.Content(schema)
	return b.content(content), diags
}

// PartialContent implements hcl.Body.
func (b *boundBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, rest, diags := b.Body.PartialContent(schema)
	return b.content(content), b.to.bind(rest), diags
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
		bound.Body = b.to.bind(block.Body)
		out.Blocks[i] = &bound
	}
	return &out
}

func (b *boundBody) attributes(attrs hcl.Attributes) hcl.Attributes {
	out := make(hcl.Attributes, len(attrs))
	for name, attr := range attrs {
		bound := *attr
		bound.Expr = &boundExpr{attr.Expr, b.to}
		out[name] = &bound
	}
	return out
}

type boundExpr struct {
	hcl.Expression
	to *binding
}

func isRun(tr hcl.Traversal) bool { return !tr.IsRelative() && tr.RootName() == "run" }

// Variables implements hcl.Expression. It omits references to the test file, which the module
// doesn't know.
func (e *boundExpr) Variables() []hcl.Traversal {
	return slices.DeleteFunc(slices.Clone(funcs.Variables(e.Expression)), e.to.binds)
}

// UnwrapExpression returns the expression as written, so that its function calls can be found.
func (e *boundExpr) UnwrapExpression() hcl.Expression { return e.Expression }

// Value implements hcl.Expression.
func (e *boundExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	vars := map[string]cty.Value{}
	for _, tr := range e.Expression.Variables() {
		name := secondName(tr)
		var err error
		if isRun(tr) && name != "" {
			err = e.to.file.checkOutput(tr)
		} else if v := e.to.variable(tr); v != nil {
			vars[name], err = v.value, v.err
		}
		if err != nil {
			return cty.DynamicVal, tfdiags.FromError(err).HCL()
		}
	}
	inner := &hcl.EvalContext{}
	if ctx != nil {
		inner = ctx.NewChild()
	}
	inner.Variables = map[string]cty.Value{"run": e.to.file.runsObject()}
	if len(vars) > 0 {
		maps.Copy(vars, moduleVariables(ctx))
		inner.Variables["var"] = cty.ObjectVal(vars)
	}
	return e.Expression.Value(inner)
}

// moduleVariables returns the module's variables in ctx, which may be nil.
func moduleVariables(ctx *hcl.EvalContext) map[string]cty.Value {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables["var"]; ok {
			return v.AsValueMap()
		}
	}
	return nil
}
