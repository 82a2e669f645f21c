package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs/configschema"
	"tofu/internal/tfdiags"
)

// Refs are the objects and provider functions that an expression or a body uses, in the order in which they are written.
type Refs struct {
	Objects   []*addrs.Reference
	Functions []FunctionRef
	Problems  tfdiags.Diagnostics // of what is written like a reference, and is none

	long bool // some resource is written as resource.TYPE.NAME

	// named has the keys of those resources of which nothing but single instances is named; nil for none.
	named map[addrs.Resource][]addrs.InstanceKey
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
	r.Problems = r.Problems.Append(other.Problems)
	r.long = r.long || other.long
	r.named = namedInstances(r.Objects)
}

// namedInstances finds the resources of which nothing but single instances is named.
func namedInstances(refs []*addrs.Reference) map[addrs.Resource][]addrs.InstanceKey {
	var out map[addrs.Resource][]addrs.InstanceKey
	for _, ref := range refs {
		if inst, ok := ref.Subject.(addrs.ResourceInstance); ok {
			if out == nil {
				out = map[addrs.Resource][]addrs.InstanceKey{}
			}
			out[inst.Resource] = append(out[inst.Resource], inst.Key)
		}
	}
	if out == nil {
		return nil
	}
	for _, ref := range refs {
		if whole, ok := ref.Subject.(addrs.Resource); ok {
			delete(out, whole)
		}
	}
	return out
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
	Meta   *hcl.BodySchema // what was taken out of the body before; nil: nothing. It is offered to who misspells it

	prepared hcl.Body
}

// Analyse finds what an expression refers to. A nil expression gives nil.
func Analyse(expr hcl.Expression, scope addrs.Scope) *Expr {
	if expr == nil {
		return nil
	}
	return &Expr{Expression: expr, Refs: refsOf(expr.Variables(), callsIn(expr), scope)}
}

// AnalyseBody finds what a body of that schema refers to.
func AnalyseBody(body hcl.Body, schema *configschema.Block, scope addrs.Scope) *Body {
	out := &Body{Body: body, Schema: schema, prepared: schema.Prepare(body)}
	var calls callFinder
	calls.inBody(body, schema)
	out.Refs = refsOf(schema.Variables(out.prepared), calls, scope)
	return out
}

// InContent gives where the references begin that stand in the content of dynamic blocks: they matter only if some content is made.
func (b *Body) InContent() map[hcl.Pos]bool {
	certain := map[hcl.Pos]bool{}
	for _, tr := range b.Schema.CertainVariables(b.Body) {
		certain[tr.SourceRange().Start] = true
	}
	out := map[hcl.Pos]bool{}
	for _, ref := range b.Refs.Objects {
		if start := ref.Range.Start; !certain[start] {
			out[start] = true
		}
	}
	return out
}

// without gives the body without some of its references to objects.
func (b *Body) without(unwanted func(*addrs.Reference) bool) *Body {
	out := *b
	out.Refs.Objects = slices.DeleteFunc(slices.Clone(b.Refs.Objects), unwanted)
	out.Refs.named = namedInstances(out.Refs.Objects)
	return &out
}

// refsOf puts together what the traversals and the calls in an expression or a body say.
func refsOf(variables []hcl.Traversal, calls callFinder, scope addrs.Scope) Refs {
	objects, problems := references(variables, scope)
	return Refs{
		Objects: objects, Functions: calls.found, Problems: problems.Append(calls.diags),
		long: longForm(variables), named: namedInstances(objects),
	}
}

// references reads traversals as references. Traversals of temporary names (dynamic block iterators) never get here.
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
func DependsOn(traversals []hcl.Traversal) Refs {
	objects, problems := references(traversals, addrs.ModuleScope)
	return Refs{Objects: objects, Problems: problems}
}

// callFinder finds the provider functions that are called.
type callFinder struct {
	found []FunctionRef
	diags tfdiags.Diagnostics
}

func callsIn(expr hcl.Expression) callFinder {
	var f callFinder
	f.inExpr(expr)
	return f
}

func (f *callFinder) inExpr(expr hcl.Expression) {
	if node, ok := expr.(hclsyntax.Node); ok {
		hclsyntax.Walk(node, f)
		return
	}
	f.inJSON(expr)
}

// inBody looks everywhere in a body. One that is put together of several, as override files do, is made of whole blocks.
func (f *callFinder) inBody(body hcl.Body, schema *configschema.Block) {
	if node, ok := body.(*hclsyntax.Body); ok {
		hclsyntax.Walk(node, f)
		return
	}
	attrs, _ := body.JustAttributes() // JSON bodies give everything, blocks included, as attributes
	for _, attr := range attrs {
		f.inExpr(attr.Expr)
	}
	if json.IsJSONBody(body) {
		return
	}
	content, _, _ := body.PartialContent(blockHeaders(schema))
	for _, block := range content.Blocks {
		nested := configschema.Empty() // dynamic blocks are in one language as a whole
		if known := schema.BlockTypes[block.Type]; known != nil {
			nested = &known.Block
		}
		f.inBody(block.Body, nested)
	}
}

// blockHeaders gives all that may be written as blocks in a body of that schema: some attributes may be, too.
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

// Enter implements hclsyntax.Walker.
func (f *callFinder) Enter(node hclsyntax.Node) hcl.Diagnostics {
	if call, ok := node.(*hclsyntax.FunctionCallExpr); ok {
		f.providerFunction(call)
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (f *callFinder) Exit(hclsyntax.Node) hcl.Diagnostics { return nil }

func (f *callFinder) providerFunction(call *hclsyntax.FunctionCallExpr) {
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
		f.diags = f.diags.Append(tfdiags.Errorf("Invalid function format",
			"%q: a provider function is written as provider::NAME::FUNCTION or provider::NAME::ALIAS::FUNCTION.", call.Name).At(call.NameRange))
		return
	}
	f.found = append(f.found, ref)
}

// inJSON looks for provider functions in every string of a JSON expression: without an evaluation context they are given as written.
func (f *callFinder) inJSON(expr hcl.Expression) {
	raw, hclDiags := expr.Value(nil)
	if hclDiags.HasErrors() || !raw.IsWhollyKnown() {
		return
	}
	_ = cty.Walk(raw, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.String && !v.IsNull() && strings.Contains(v.AsString(), "provider::") {
			if template, diags := hclsyntax.ParseTemplate([]byte(v.AsString()), expr.Range().Filename, expr.Range().Start); !diags.HasErrors() {
				hclsyntax.Walk(template, f)
			}
		}
		return true, nil
	})
}
