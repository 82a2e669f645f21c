package lang

import (
	"slices"
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
	typeWords funcs.TypeWords // words of type constraints, which HCL returns as variables too
	errs      tfdiags.Diagnostics

	// indexes holds the expressions OBJECT[INDEX] by the start of OBJECT; nil if there are none.
	// outputs holds NAME for the expressions OBJECT[INDEX].NAME.
	indexes map[place]*hclsyntax.IndexExpr
	outputs map[place]string

	// within holds the conditions around the expression that is being visited. guarded holds the
	// conditions around each object that may be a resource or a module call; nil if there are none.
	within  []condition
	guarded map[place][]condition
}

// place is a position in a file.
type place struct {
	file string
	pos  hcl.Pos
}

func startOf(rng hcl.Range) place { return place{rng.Filename, rng.Start} }

// condition is the condition of a conditional expression, together with the result of it that
// selects the branch being visited.
type condition struct {
	expr  hclsyntax.Expression
	holds bool
}

// refs returns the references and calls found so far.
func (f *finder) refs(scope addrs.Scope) Refs {
	f.variables = f.typeWords.Without(f.variables)
	objects, err := references(f.variables, scope)
	out := Refs{
		Objects: objects, Functions: f.functions, Problems: tfdiags.FromError(err).Append(f.errs...),
		longForm: longForm(f.variables), selected: f.selected(objects, scope), indexed: f.indexedValues(objects, scope),
	}
	out.findInstances()
	return out
}

// selected returns the references that select an instance by a computed index, or that are used
// only under a condition.
func (f *finder) selected(objects []*addrs.Reference, scope addrs.Scope) map[*addrs.Reference]InstanceRef {
	if len(f.indexes)+len(f.guarded) == 0 {
		return nil
	}
	out := map[*addrs.Reference]InstanceRef{}
	conditions := map[hclsyntax.Expression]*Expr{}
	for _, ref := range objects {
		at := startOf(ref.Range)
		index, guards := f.indexes[at], f.guarded[at]
		one := InstanceRef{Range: ref.Range}
		switch ref.Subject.(type) {
		case addrs.Resource, addrs.ModuleCall:
			if index == nil || len(ref.Remaining) > 0 {
				continue
			}
			one.Index = Analyze(index.Key, scope)
			if !one.Index.standsAlone() {
				continue
			}
			one.Range, one.Output = index.BracketRange, f.outputOf(ref)
		case addrs.ResourceInstance, addrs.ModuleCallInstance, addrs.ModuleCallOutput:
			if guards == nil {
				continue
			}
		default:
			continue
		}
		for _, g := range guards {
			if conditions[g.expr] == nil {
				conditions[g.expr] = Analyze(g.expr, scope)
			}
			if cond := conditions[g.expr]; cond.standsAlone() {
				one.Guards = append(one.Guards, Guard{cond, g.holds})
			}
		}
		out[ref] = one
	}
	return out
}

// outputOf returns the output in module.NAME[INDEX].OUTPUT, or "".
func (f *finder) outputOf(ref *addrs.Reference) string {
	if _, call := ref.Subject.(addrs.ModuleCall); !call {
		return ""
	}
	return f.outputs[startOf(ref.Range)]
}

// standsAlone reports whether an expression can be evaluated on its own, which means that it has no
// errors and doesn't refer to "self".
func (e *Expr) standsAlone() bool {
	isSelf := func(ref *addrs.Reference) bool { return ref.Subject == addrs.Self{} }
	return len(e.Refs.Problems) == 0 && !slices.ContainsFunc(e.Refs.Objects, isSelf)
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
// times slower and needs separate passes for variables and for calls. Expressions that define names
// for their children are left to HCL.
func (f *finder) inNative(expr hclsyntax.Expression) {
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
	case *hclsyntax.ScopeTraversalExpr:
		f.variables = append(f.variables, e.Traversal)
		f.noteConditions(e)
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
	case *hclsyntax.RelativeTraversalExpr:
		f.noteOutput(e)
		f.inNative(e.Source)
	case *hclsyntax.ConditionalExpr:
		f.inNative(e.Condition)
		f.within = append(f.within, condition{e.Condition, true})
		f.inNative(e.TrueResult)
		f.within[len(f.within)-1].holds = false
		f.inNative(e.FalseResult)
		f.within = f.within[:len(f.within)-1]
	case *hclsyntax.BinaryOpExpr:
		f.inNative(e.LHS)
		f.inNative(e.RHS)
	case *hclsyntax.UnaryOpExpr:
		f.inNative(e.Val)
	case *hclsyntax.IndexExpr:
		f.inIndex(e)
	case *hclsyntax.SplatExpr:
		f.inNative(e.Source)
		f.inNative(e.Each)
	case *hclsyntax.ForExpr:
		f.inNative(e.CollExpr)
		f.inScope(e)
	default:
		f.variables = append(f.variables, e.Variables()...)
		funcs.VisitCallsInNode(e, f.call)
	}
}

func (f *finder) inIndex(e *hclsyntax.IndexExpr) {
	f.noteIndex(e)
	f.inNative(e.Collection)
	f.inNative(e.Key)
}

// noteConditions records the conditions around an object that may be a resource or a module call.
func (f *finder) noteConditions(e *hclsyntax.ScopeTraversalExpr) {
	if len(f.within) == 0 {
		return
	}
	switch e.Traversal.RootName() {
	case "var", "local", "each", "count", "path", "terraform", "self":
		return
	}
	if f.guarded == nil {
		f.guarded = map[place][]condition{}
	}
	f.guarded[startOf(e.Traversal.SourceRange())] = slices.Clone(f.within)
}

// inScope finds references in those parts of a "for" expression that can use the names that it
// defines.
func (f *finder) inScope(e *hclsyntax.ForExpr) {
	for _, part := range []hclsyntax.Expression{e.KeyExpr, e.ValExpr, e.CondExpr} {
		if part == nil {
			continue
		}
		for _, tr := range part.Variables() {
			if name := tr.RootName(); name != e.KeyVar && name != e.ValVar {
				f.variables = append(f.variables, tr)
			}
		}
		funcs.VisitCallsInNode(part, f.call)
	}
}

// noteIndex records the index of OBJECT[INDEX].
func (f *finder) noteIndex(e *hclsyntax.IndexExpr) {
	object, ok := e.Collection.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		return
	}
	if f.indexes == nil {
		f.indexes = map[place]*hclsyntax.IndexExpr{}
	}
	f.indexes[startOf(object.Traversal.SourceRange())] = e
}

// noteOutput records the name in OBJECT[INDEX].NAME.
func (f *finder) noteOutput(e *hclsyntax.RelativeTraversalExpr) {
	index, indexed := e.Source.(*hclsyntax.IndexExpr)
	if !indexed {
		return
	}
	object, plain := index.Collection.(*hclsyntax.ScopeTraversalExpr)
	name, named := e.Traversal[0].(hcl.TraverseAttr)
	if !plain || !named || object.Traversal.RootName() != "module" {
		return
	}
	if f.outputs == nil {
		f.outputs = map[place]string{}
	}
	f.outputs[startOf(object.Traversal.SourceRange())] = name.Name
}

// indexesInBody records the indexes in a body with dynamic blocks. It leaves out indexes with names
// that a dynamic block or a "for" expression defines.
func (f *finder) indexesInBody(body *hclsyntax.Body) {
	defined := map[string]bool{}
	var indexes []*hclsyntax.IndexExpr
	_ = hclsyntax.VisitAll(body, func(node hclsyntax.Node) hcl.Diagnostics {
		switch node := node.(type) {
		case *hclsyntax.IndexExpr:
			indexes = append(indexes, node)
		case *hclsyntax.RelativeTraversalExpr:
			f.noteOutput(node)
		case *hclsyntax.ForExpr:
			defined[node.KeyVar], defined[node.ValVar] = true, true
		case *hclsyntax.Block:
			if node.Type == "dynamic" {
				defined[iteratorName(node)] = true
			}
		}
		return nil
	})
	for _, e := range indexes {
		own := func(tr hcl.Traversal) bool { return defined[tr.RootName()] }
		if !slices.ContainsFunc(e.Variables(), own) {
			f.noteIndex(e)
		}
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
	if node, ok := body.(*hclsyntax.Body); ok {
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
