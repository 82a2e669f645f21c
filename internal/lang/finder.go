package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"

	"tofu/internal/addrs"
	"tofu/internal/configs/configschema"
	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// finder finds the references and provider function calls in expressions, in source order.
type finder struct {
	variables []hcl.Traversal
	functions []FunctionRef
	typeWords funcs.TypeWords // type keywords, which variables includes
	errs      tfdiags.Diagnostics
}

// refs returns the references and calls found so far.
func (f *finder) refs(scope addrs.Scope) Refs {
	f.variables = f.typeWords.Without(f.variables)
	objects, err := references(f.variables, scope)
	return Refs{
		Objects: objects, Functions: f.functions, Problems: tfdiags.FromError(err).Append(f.errs...),
		longForm: longForm(f.variables), instanceKeys: namedInstances(objects),
	}
}

func (f *finder) inExpr(expr hcl.Expression) {
	if node, ok := expr.(hclsyntax.Expression); ok {
		f.inNative(node)
		return
	}
	f.variables = append(f.variables, expr.Variables()...)
	funcs.VisitCalls(expr, f.call)
}

// inNative handles the most frequent kinds of expressions itself: HCL's walk is several times
// slower and needs one pass for variables and one for calls. Expressions that define names for
// their children are left to HCL.
func (f *finder) inNative(expr hclsyntax.Expression) {
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
	case *hclsyntax.ScopeTraversalExpr:
		f.variables = append(f.variables, e.Traversal)
	case *hclsyntax.TemplateExpr:
		f.inEach(e.Parts)
	case *hclsyntax.TemplateWrapExpr:
		f.inNative(e.Wrapped)
	case *hclsyntax.ParenthesesExpr:
		f.inNative(e.Expression)
	case *hclsyntax.TupleConsExpr:
		f.inEach(e.Exprs)
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			f.inNative(item.KeyExpr)
			f.inNative(item.ValueExpr)
		}
	case *hclsyntax.FunctionCallExpr:
		f.call(e)
		f.inEach(e.Args)
	default:
		f.variables = append(f.variables, e.Variables()...)
		funcs.VisitCallsInNode(e, f.call)
	}
}

func (f *finder) inEach(exprs []hclsyntax.Expression) {
	for _, e := range exprs {
		f.inNative(e)
	}
}

// callsInBody finds calls anywhere in a body. A merged body, such as an overridden one, consists of
// whole blocks.
func (f *finder) callsInBody(body hcl.Body, schema *configschema.Block) {
	if node, ok := body.(*hclsyntax.Body); ok {
		funcs.VisitCallsInNode(node, f.call)
		return
	}
	attrs, _ := body.JustAttributes() // JSON bodies return blocks as attributes too
	for _, attr := range attrs {
		funcs.VisitCalls(attr.Expr, f.call)
	}
	if json.IsJSONBody(body) {
		return
	}
	content, _, _ := body.PartialContent(blockHeaders(schema))
	for _, block := range content.Blocks {
		nested := configschema.Empty() // the content of a dynamic block has the syntax of the block itself
		if known := schema.BlockTypes[block.Type]; known != nil {
			nested = &known.Block
		}
		f.callsInBody(block.Body, nested)
	}
}

// blockHeaders returns the schema of all blocks in a body, including attributes that may be written
// as blocks.
func blockHeaders(schema *configschema.Block) *hcl.BodySchema {
	out := &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "dynamic", LabelNames: []string{"type"}}}}
	for name, nested := range schema.BlockTypes {
		header := hcl.BlockHeaderSchema{Type: name}
		if nested.Nesting == configschema.NestingMap {
			header.LabelNames = []string{"key"}
		}
		out.Blocks = append(out.Blocks, header)
	}
	for name := range schema.Attributes {
		out.Blocks = append(out.Blocks, hcl.BlockHeaderSchema{Type: name})
	}
	return out
}

// call records a call of a provider function or of a function with a type constraint.
func (f *finder) call(call *hclsyntax.FunctionCallExpr) {
	f.typeWords.Add(call)
	if !strings.HasPrefix(call.Name, "provider::") {
		return
	}
	parts := strings.Split(call.Name, "::")
	ref := FunctionRef{Range: call.NameRange}
	switch len(parts) {
	case 3:
		ref.Func = addrs.ProviderFunction{Name: parts[1], Function: parts[2]}
	case 4:
		ref.Func = addrs.ProviderFunction{Name: parts[1], Alias: parts[2], Function: parts[3]}
	default:
		f.errs = f.errs.Append(tfdiags.Errorf("Invalid function format",
			"%q is not a valid provider function name. The form is provider::NAME::FUNCTION or "+
				"provider::NAME::ALIAS::FUNCTION.", call.Name).At(call.NameRange))
		return
	}
	f.functions = append(f.functions, ref)
}
