package symlib

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/funcs"
	"tofu/internal/suggest"
)

const prefix = "symbols::"

// Imports are the libraries that a module or a library imports, by name.
type Imports map[string]*Library

// Rewrite replaces in a body what refers to the symbols of imported libraries.
func (i Imports) Rewrite(body *hclsyntax.Body) hcl.Diagnostics {
	r := &rewriter{imports: i}
	r.body(body)
	return r.diags
}

// rewriter replaces references to symbols in syntax trees.
type rewriter struct {
	imports Imports
	own     *Library           // the library that has the expression; nil for a module
	calls   map[*userFunc]bool // functions of libraries that the expressions call; may be nil
	types   bool               // the expressions are type constraints
	diags   hcl.Diagnostics
}

func (r *rewriter) body(body *hclsyntax.Body) {
	for _, attr := range body.Attributes {
		attr.Expr = r.expr(attr.Expr)
	}
	for _, block := range body.Blocks {
		r.body(block.Body)
	}
}

func (r *rewriter) each(list []hclsyntax.Expression) {
	for i := range list {
		list[i] = r.expr(list[i])
	}
}

// expr returns an expression in place of e, whose parts it changes.
func (r *rewriter) expr(e hclsyntax.Expression) hclsyntax.Expression {
	switch e := e.(type) {
	case nil:
		return nil
	case *hclsyntax.ScopeTraversalExpr:
		return r.value(e)
	case *hclsyntax.FunctionCallExpr:
		constraint := funcs.TypeArgument(e)
		for i := range e.Args {
			before := r.types
			r.types = before || e.Args[i] == constraint
			e.Args[i] = r.expr(e.Args[i])
			r.types = before
		}
		if strings.HasPrefix(e.Name, prefix) {
			return r.call(e)
		}
		r.checkBuiltin(e)
	case *hclsyntax.TemplateExpr:
		r.each(e.Parts)
	case *hclsyntax.TemplateWrapExpr:
		e.Wrapped = r.expr(e.Wrapped)
	case *hclsyntax.TemplateJoinExpr:
		e.Tuple = r.expr(e.Tuple)
	case *hclsyntax.ParenthesesExpr:
		e.Expression = r.expr(e.Expression)
	case *hclsyntax.TupleConsExpr:
		r.each(e.Exprs)
	case *hclsyntax.ObjectConsExpr:
		for i := range e.Items {
			e.Items[i].KeyExpr, e.Items[i].ValueExpr = r.expr(e.Items[i].KeyExpr), r.expr(e.Items[i].ValueExpr)
		}
	case *hclsyntax.ObjectConsKeyExpr:
		if e.ForceNonLiteral || hcl.ExprAsKeyword(e.Wrapped) == "" {
			e.Wrapped = r.expr(e.Wrapped)
		}
	case *hclsyntax.RelativeTraversalExpr:
		e.Source = r.expr(e.Source)
	case *hclsyntax.ConditionalExpr:
		e.Condition, e.TrueResult, e.FalseResult = r.expr(e.Condition), r.expr(e.TrueResult), r.expr(e.FalseResult)
	case *hclsyntax.BinaryOpExpr:
		e.LHS, e.RHS = r.expr(e.LHS), r.expr(e.RHS)
	case *hclsyntax.UnaryOpExpr:
		e.Val = r.expr(e.Val)
	case *hclsyntax.IndexExpr:
		e.Collection, e.Key = r.expr(e.Collection), r.expr(e.Key)
	case *hclsyntax.SplatExpr:
		e.Source, e.Each = r.expr(e.Source), r.expr(e.Each)
	case *hclsyntax.ForExpr:
		e.CollExpr, e.KeyExpr, e.ValExpr, e.CondExpr = r.expr(e.CollExpr), r.expr(e.KeyExpr), r.expr(e.ValExpr),
			r.expr(e.CondExpr)
	}
	return e
}

func (r *rewriter) errorf(at hcl.Range, summary, detail string) {
	r.diags = r.diags.Append(&hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at})
}

// library returns the library of a name: an imported one or, for "", the library itself. It adds an
// error if no library has the name.
func (r *rewriter) library(name string, at hcl.Range) *Library {
	lib := r.imports[name]
	if name == "" {
		lib = r.own
	}
	switch {
	case lib != nil:
	case name == "":
		r.errorf(at, "Incomplete reference to a symbol", "A module has no symbols of its own. Write the name of a symbols block "+
			"before the name of the symbol.")
	default:
		r.errorf(at, "Unknown symbol library", "There is no block `symbols \""+name+"\"`."+
			suggest.DidYouMean(name, slices.Collect(maps.Keys(r.imports))))
	}
	return lib
}

// call replaces a call of a user's function, or a type.
func (r *rewriter) call(e *hclsyntax.FunctionCallExpr) hclsyntax.Expression {
	namespace, name, nested := strings.Cut(strings.TrimPrefix(e.Name, prefix), "::")
	if !nested {
		namespace, name = "", namespace
	}
	lib := r.library(namespace, e.NameRange)
	if lib == nil {
		return e
	}
	if typ := lib.types[name]; typ != nil {
		expr, diags := typ.resolved()
		r.diags = append(r.diags, diags...)
		return expr
	}
	f := lib.functions[name]
	if f == nil {
		names := slices.Concat(slices.Collect(maps.Keys(lib.functions)), slices.Collect(maps.Keys(lib.types)))
		r.errorf(e.NameRange, "Unknown symbol", "The symbol library in "+lib.dir+" has neither a function nor a type \""+name+
			"\"."+suggest.DidYouMean(name, names))
		return e
	}
	if r.calls != nil {
		r.calls[f] = true
	}
	return &call{FunctionCallExpr: e, of: f}
}

// checkBuiltin adds an error if a library calls a function that it can't call. In types, words such as list are
// no functions.
func (r *rewriter) checkBuiltin(e *hclsyntax.FunctionCallExpr) {
	if r.own == nil || r.types {
		return
	}
	if _, ok := r.own.builtin()[e.Name]; ok {
		return
	}
	r.errorf(e.NameRange, "Unknown function in a symbol library", "Symbol libraries can call built-in functions whose results are "+
		"constant for the same arguments, and functions of symbol libraries. There is no such function \""+e.Name+"\"."+
		suggest.DidYouMean(e.Name, slices.Sorted(maps.Keys(r.own.builtin()))))
}

// value replaces a reference to a value.
func (r *rewriter) value(e *hclsyntax.ScopeTraversalExpr) hclsyntax.Expression {
	root := e.Traversal.RootName()
	isValue := root == "symbols" || root == "value" && r.own != nil
	if !isValue || len(e.Traversal) < 2 {
		return e
	}
	names := make([]string, 0, 2)
	for _, step := range e.Traversal[1:] {
		attr, ok := step.(hcl.TraverseAttr)
		if !ok || len(names) == 2 {
			break
		}
		names = append(names, attr.Name)
	}
	switch {
	case len(names) == 0:
		r.errorf(e.Range(), "Incomplete reference to a symbol", "A reference to a value has the form symbols.LIBRARY.NAME.")
		return e
	case root == "symbols" && (r.own == nil || len(names) == 2 && r.imports[names[0]] != nil):
		lib := r.library(names[0], e.Range())
		if lib == nil || len(names) < 2 {
			if lib != nil {
				r.errorf(e.Range(), "Incomplete reference to a symbol", "Add the name of a value of the library.")
			}
			return e
		}
		return r.reference(e, lib, names[1], e.Traversal[3:])
	}
	return r.reference(e, r.own, names[0], e.Traversal[2:])
}

func (r *rewriter) reference(e *hclsyntax.ScopeTraversalExpr, lib *Library, name string,
	rest hcl.Traversal) hclsyntax.Expression {
	v := lib.values[name]
	if v == nil {
		r.errorf(e.Range(), "Unknown symbol", "The symbol library in "+lib.dir+" has no value \""+name+"\"."+
			suggest.DidYouMean(name, slices.Collect(maps.Keys(lib.values))))
		return e
	}
	return &reference{ScopeTraversalExpr: e, of: v, rest: rest}
}

// call is a call of a function of a library.
type call struct {
	*hclsyntax.FunctionCallExpr
	of *userFunc
}

// Value implements hcl.Expression.
func (c *call) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if ctx == nil {
		ctx = &hcl.EvalContext{}
	}
	ctx = ctx.NewChild()
	ctx.Functions = map[string]function.Function{c.Name: c.of.function()}
	return c.FunctionCallExpr.Value(ctx)
}

// reference is a reference to a value of a library.
type reference struct {
	*hclsyntax.ScopeTraversalExpr
	of   *value
	rest hcl.Traversal
}

// Variables implements hcl.Expression: a value refers to nothing.
func (r *reference) Variables() []hcl.Traversal { return nil }

// Value implements hcl.Expression.
func (r *reference) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := r.of.get(r.Range())
	if diags.HasErrors() {
		return v, diags
	}
	return r.rest.TraverseRel(v)
}
