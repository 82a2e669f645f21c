package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/lazyblock"
	"tofu/internal/tfdiags"
)

// finder finds the references and provider function calls in expressions, in source order.
type finder struct {
	variables []hcl.Traversal
	functions []FunctionRef
	typeWords funcs.TypeWords // words of type constraints, which HCL returns as variables too
	errs      tfdiags.Diagnostics

	// indexes holds the INDEX of expressions such as OBJECT[INDEX] by the start of OBJECT; nil if
	// there are none. names holds NAME for expressions such as OBJECT[INDEX].NAME and OBJECT[*].NAME.
	indexes map[place]index
	names   map[place]string

	// within holds the conditions and loops around the expression that is being visited, outermost
	// first. around holds the conditions and loops around each object that may be a resource, a
	// module call or a value with an index, by the position of the object; it is nil if there are
	// none.
	within []surrounding
	around map[place][]surrounding
}

// place is a position in a file.
type place struct {
	file string
	pos  hcl.Pos
}

func startOf(rng hcl.Range) place { return place{rng.Filename, rng.Start} }

// refs returns the references and calls found so far.
func (f *finder) refs(scope addrs.Scope) Refs {
	f.variables = f.typeWords.Without(f.variables)
	objects, err := references(f.variables, scope)
	out := Refs{
		Objects: objects, Functions: f.functions, Problems: tfdiags.FromError(err).Append(f.errs...),
		longForm: longForm(f.variables), selected: f.selected(objects, scope), indexed: f.indexedValues(objects, scope),
		names: f.named(objects),
	}
	out.findInstances()
	return out
}

func (f *finder) inExpr(expr hcl.Expression) {
	if node, ok := expr.(hclsyntax.Expression); ok {
		f.inNative(node)
		return
	}
	f.variables = append(f.variables, expr.Variables()...)
	funcs.VisitCalls(expr, f.call)
}

// inNative handles the most frequent kinds of expressions itself, because HCL's walk is several
// times slower and needs separate passes for variables and for calls.
func (f *finder) inNative(expr hclsyntax.Expression) {
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
	case *hclsyntax.ScopeTraversalExpr:
		if !defined(e.Traversal, f.within) {
			f.variables = append(f.variables, e.Traversal)
			f.noteAround(e)
		}
	case *hclsyntax.TemplateExpr:
		f.inEach(e.Parts)
	case *hclsyntax.TemplateWrapExpr:
		f.inNative(e.Wrapped)
	case *hclsyntax.TemplateJoinExpr:
		f.inNative(e.Tuple)
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
		f.noteIndex(e)
		f.inEach(e.Args)
	case *hclsyntax.RelativeTraversalExpr:
		f.noteIndex(e)
		f.noteOutput(e)
		f.inNative(e.Source)
	case *hclsyntax.ConditionalExpr:
		f.inNative(e.Condition)
		f.inPart(surrounding{expr: e.Condition, holds: true}, e.TrueResult)
		f.inPart(surrounding{expr: e.Condition, holds: false}, e.FalseResult)
	case *hclsyntax.BinaryOpExpr:
		f.inNative(e.LHS)
		f.inNative(e.RHS)
	case *hclsyntax.UnaryOpExpr:
		f.inNative(e.Val)
	case *hclsyntax.IndexExpr:
		f.inIndex(e)
	case *hclsyntax.SplatExpr:
		f.noteSplat(e)
		f.inNative(e.Source)
		f.inNative(e.Each)
	case *hclsyntax.ForExpr:
		f.inNative(e.CollExpr)
		f.inFor(e)
	default:
		for _, tr := range e.Variables() {
			if !defined(tr, f.within) {
				f.variables = append(f.variables, tr)
			}
		}
		funcs.VisitCallsInNode(e, f.call)
	}
}

// inPart finds references in an expression, which may be nil, within a condition or a loop.
func (f *finder) inPart(s surrounding, expr hclsyntax.Expression) {
	if expr == nil {
		return
	}
	f.within = append(f.within, s)
	f.inNative(expr)
	f.within = f.within[:len(f.within)-1]
}

// inFor finds references in those parts of a "for" expression that can use the names that it
// defines.
func (f *finder) inFor(e *hclsyntax.ForExpr) {
	f.within = append(f.within, surrounding{expr: e.CollExpr, loop: &loopNames{key: e.KeyVar, value: e.ValVar}})
	for _, part := range []hclsyntax.Expression{e.KeyExpr, e.ValExpr} {
		switch {
		case part == nil:
		case e.CondExpr != nil:
			f.inPart(surrounding{expr: e.CondExpr, holds: true}, part)
		default:
			f.inNative(part)
		}
	}
	if e.CondExpr != nil {
		f.inNative(e.CondExpr)
	}
	f.within = f.within[:len(f.within)-1]
}

func (f *finder) inIndex(e *hclsyntax.IndexExpr) {
	f.noteIndex(e)
	f.inNative(e.Collection)
	f.inNative(e.Key)
}

// inBody visits the expressions in a body with dynamic blocks.
func (f *finder) inBody(body *hclsyntax.Body) {
	for _, attr := range body.Attributes {
		f.inNative(attr.Expr)
	}
	for _, block := range body.Blocks {
		each := block.Body.Attributes["for_each"]
		if block.Type != "dynamic" || each == nil {
			f.inBody(block.Body)
			continue
		}
		f.inNative(each.Expr)
		f.within = append(f.within, surrounding{expr: each.Expr, loop: &loopNames{iterator: iteratorName(block)}})
		for _, content := range block.Body.Blocks {
			f.inBody(content.Body)
		}
		f.within = f.within[:len(f.within)-1]
	}
}

// iteratorName returns the name that a dynamic block defines for its content.
func iteratorName(dynamic *hclsyntax.Block) string {
	if attr := dynamic.Body.Attributes["iterator"]; attr != nil {
		if name := hcl.ExprAsKeyword(attr.Expr); name != "" {
			return name
		}
	}
	if len(dynamic.Labels) == 0 {
		return ""
	}
	return dynamic.Labels[0]
}

func (f *finder) inEach(exprs []hclsyntax.Expression) {
	for _, e := range exprs {
		f.inNative(e)
	}
}

// callsInBody finds calls anywhere in a body. In a merged body, such as an overridden one, each
// block comes from one of the original bodies.
func (f *finder) callsInBody(body hcl.Body, schema *configschema.Block) {
	if node, ok := lazyblock.Native(body); ok {
		funcs.VisitCallsInNode(node, f.call)
		return
	}
	attrs, _ := body.JustAttributes() // JSON bodies return their blocks as attributes too
	for _, attr := range attrs {
		funcs.VisitCalls(attr.Expr, f.call)
	}
	if json.IsJSONBody(body) {
		return
	}
	content, _, _ := body.PartialContent(blockHeaders(schema))
	for _, block := range content.Blocks {
		// The content of a dynamic block is like the content of the blocks that it generates.
		nested := configschema.Empty()
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
