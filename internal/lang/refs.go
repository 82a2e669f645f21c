package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs/configschema"
	"tofu/internal/tfdiags"
)

// Refs are the objects and provider functions that an expression or a body uses, in the order in which they are written.
type Refs struct {
	Objects   []*addrs.Reference
	Functions []FunctionRef

	long bool // some resource is written as resource.TYPE.NAME
}

// FunctionRef is one call of a provider-defined function.
type FunctionRef struct {
	Func  addrs.ProviderFunction
	Range hcl.Range
}

// Add appends another list.
func (r *Refs) Add(other Refs) {
	r.Objects = append(r.Objects, other.Objects...)
	r.Functions = append(r.Functions, other.Functions...)
	r.long = r.long || other.long
}

// Expr is an analysed expression. The zero Expr is no expression.
type Expr struct {
	hcl.Expression
	Refs Refs
}

// Body is a body analysed against its schema.
type Body struct {
	Body   hcl.Body
	Schema *configschema.Block
	Refs   Refs

	prepared hcl.Body
}

// Analyse finds what an expression refers to. A nil expression gives nil.
func Analyse(expr hcl.Expression, scope addrs.Scope) (*Expr, tfdiags.Diagnostics) {
	if expr == nil {
		return nil, nil
	}
	out := &Expr{Expression: expr}
	var diags tfdiags.Diagnostics
	variables := expr.Variables()
	out.Refs.Objects, diags = references(variables, scope)
	out.Refs.long = longForm(variables)
	var more tfdiags.Diagnostics
	out.Refs.Functions, more = functionsIn(expr)
	return out, diags.Append(more)
}

// AnalyseBody finds what a body of that schema refers to.
func AnalyseBody(body hcl.Body, schema *configschema.Block, scope addrs.Scope) (*Body, tfdiags.Diagnostics) {
	out := &Body{Body: body, Schema: schema, prepared: schema.Prepare(body)}
	var diags, more tfdiags.Diagnostics
	variables := schema.Variables(body)
	out.Refs.Objects, diags = references(variables, scope)
	out.Refs.long = longForm(variables)
	out.Refs.Functions, more = bodyFunctions(body)
	return out, diags.Append(more)
}

// References reads traversals as references. Traversals of temporary names (dynamic block iterators) never get here.
func references(traversals []hcl.Traversal, scope addrs.Scope) ([]*addrs.Reference, tfdiags.Diagnostics) {
	if len(traversals) == 0 {
		return nil, nil
	}
	var diags tfdiags.Diagnostics
	out := make([]*addrs.Reference, 0, len(traversals))
	for _, tr := range traversals {
		ref, more := addrs.ParseRef(tr, scope)
		diags = diags.Append(more)
		if ref != nil {
			out = append(out, ref)
		}
	}
	return out, diags
}

// longForm tells whether a resource is written with the word "resource" before its type.
func longForm(traversals []hcl.Traversal) bool {
	return slices.ContainsFunc(traversals, func(tr hcl.Traversal) bool { return tr.RootName() == "resource" })
}

// DependsOn reads the traversals of a depends_on argument.
func DependsOn(traversals []hcl.Traversal) ([]*addrs.Reference, tfdiags.Diagnostics) {
	return references(traversals, addrs.ModuleScope)
}

// functionsIn finds the provider functions that an expression calls.
func functionsIn(expr hcl.Expression) ([]FunctionRef, tfdiags.Diagnostics) {
	if node, ok := expr.(hclsyntax.Node); ok {
		return syntaxFunctions(node)
	}
	return jsonFunctions(expr)
}

func bodyFunctions(body hcl.Body) ([]FunctionRef, tfdiags.Diagnostics) {
	if node, ok := body.(*hclsyntax.Body); ok {
		return syntaxFunctions(node)
	}
	attrs, _ := body.JustAttributes() // JSON bodies give everything, blocks included, as attributes
	var out []FunctionRef
	var diags tfdiags.Diagnostics
	for _, attr := range attrs {
		refs, more := functionsIn(attr.Expr)
		out, diags = append(out, refs...), diags.Append(more)
	}
	return out, diags
}

type functionFinder struct {
	found []FunctionRef
	diags tfdiags.Diagnostics
}

func (f *functionFinder) Enter(node hclsyntax.Node) hcl.Diagnostics {
	call, ok := node.(*hclsyntax.FunctionCallExpr)
	if !ok || !strings.HasPrefix(call.Name, "provider::") {
		return nil
	}
	parts := strings.Split(call.Name, "::")
	ref := FunctionRef{Range: call.NameRange}
	switch len(parts) {
	case 3:
		ref.Func = addrs.ProviderFunction{Name: parts[1], Function: parts[2]}
	case 4:
		ref.Func = addrs.ProviderFunction{Name: parts[1], Alias: parts[2], Function: parts[3]}
	default:
		f.diags = f.diags.Append(tfdiags.Errorf("Invalid function format",
			"%q: a provider function is written as provider::NAME::FUNCTION or provider::NAME::ALIAS::FUNCTION.", call.Name).At(call.NameRange))
		return nil
	}
	f.found = append(f.found, ref)
	return nil
}

func (f *functionFinder) Exit(hclsyntax.Node) hcl.Diagnostics { return nil }

func syntaxFunctions(node hclsyntax.Node) ([]FunctionRef, tfdiags.Diagnostics) {
	var f functionFinder
	hclsyntax.Walk(node, &f)
	return f.found, f.diags
}

// jsonFunctions looks into every string of a JSON expression: without an evaluation context they are given as written.
func jsonFunctions(expr hcl.Expression) ([]FunctionRef, tfdiags.Diagnostics) {
	raw, hclDiags := expr.Value(nil)
	if hclDiags.HasErrors() || !raw.IsWhollyKnown() {
		return nil, nil
	}
	var f functionFinder
	_ = cty.Walk(raw, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.String && !v.IsNull() && strings.Contains(v.AsString(), "provider::") {
			if template, diags := hclsyntax.ParseTemplate([]byte(v.AsString()), expr.Range().Filename, expr.Range().Start); !diags.HasErrors() {
				hclsyntax.Walk(template, &f)
			}
		}
		return true, nil
	})
	return f.found, f.diags
}
