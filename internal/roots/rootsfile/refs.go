package rootsfile

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/tfdiags"
)

// references returns the references to outputs of root modules in an expression, in source order.
// Names of root modules may be computed, even in "for" expressions, if the collections are known.
func references(expr hclsyntax.Expression, ctx *hcl.EvalContext) ([]Ref, error) {
	f := &finder{seen: make(map[Ref]bool)}
	f.find(expr, ctx)
	return f.refs, f.errs.Err()
}

// predecessors returns the root modules in an "after" argument. Each element of a list in brackets must
// refer to one.
func predecessors(expr hclsyntax.Expression, ctx *hcl.EvalContext) ([]Ref, error) {
	elements := []hclsyntax.Expression{expr}
	if list, ok := expr.(*hclsyntax.TupleConsExpr); ok {
		elements = list.Exprs
	}
	var errs tfdiags.Diagnostics
	for _, e := range elements {
		if !refersTo(e, "root") {
			errs = errs.Append(tfdiags.Errorf("Invalid reference to a root module", "The argument \"after\" is a list of "+
				"root modules: after = [root[\"prod/network\"]].").At(e.Range()))
		}
	}
	refs, err := references(expr, ctx)
	return refs, errs.AppendError(err).Err()
}

type finder struct {
	refs []Ref
	seen map[Ref]bool
	errs tfdiags.Diagnostics
}

// find finds the references in an expression. The names of root modules may use the variables in
// ctx.
func (f *finder) find(expr hclsyntax.Expression, ctx *hcl.EvalContext) {
	switch e := expr.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		f.traversal(e)
	case *hclsyntax.RelativeTraversalExpr:
		if index, ok := e.Source.(*hclsyntax.IndexExpr); ok && isRoot(index.Collection) {
			f.computed(index, e.Traversal, ctx)
			return
		}
		f.find(e.Source, ctx)
	case *hclsyntax.IndexExpr:
		if isRoot(e.Collection) {
			f.computed(e, nil, ctx)
			return
		}
		f.each(ctx, e.Collection, e.Key)
	case *hclsyntax.ForExpr:
		f.loop(e, ctx)
	case *hclsyntax.TemplateExpr:
		f.each(ctx, e.Parts...)
	case *hclsyntax.TemplateWrapExpr:
		f.find(e.Wrapped, ctx)
	case *hclsyntax.TemplateJoinExpr:
		f.find(e.Tuple, ctx)
	case *hclsyntax.ParenthesesExpr:
		f.find(e.Expression, ctx)
	case *hclsyntax.TupleConsExpr:
		f.each(ctx, e.Exprs...)
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			f.each(ctx, item.KeyExpr, item.ValueExpr)
		}
	case *hclsyntax.ObjectConsKeyExpr:
		if hcl.ExprAsKeyword(e.Wrapped) == "" { // here a bare word is an attribute name, not a reference
			f.find(e.Wrapped, ctx)
		}
	case *hclsyntax.FunctionCallExpr:
		f.each(ctx, e.Args...)
	case *hclsyntax.ConditionalExpr:
		f.each(ctx, e.Condition, e.TrueResult, e.FalseResult)
	case *hclsyntax.BinaryOpExpr:
		f.each(ctx, e.LHS, e.RHS)
	case *hclsyntax.UnaryOpExpr:
		f.find(e.Val, ctx)
	case *hclsyntax.SplatExpr:
		f.each(ctx, e.Source, e.Each)
	}
}

func (f *finder) each(ctx *hcl.EvalContext, exprs ...hclsyntax.Expression) {
	for _, e := range exprs {
		f.find(e, ctx)
	}
}

// isRoot reports whether an expression is the word root.
func isRoot(expr hclsyntax.Expression) bool { return hcl.ExprAsKeyword(expr) == "root" }

// traversal finds root["NAME"].OUTPUT with a constant name.
func (f *finder) traversal(e *hclsyntax.ScopeTraversalExpr) {
	if e.Traversal.RootName() != "root" {
		return
	}
	if len(e.Traversal) > 1 {
		if index, ok := e.Traversal[1].(hcl.TraverseIndex); ok && index.Key.Type() == cty.String {
			f.add(index.Key.AsString(), e.Traversal[2:], e.Range())
			return
		}
	}
	f.invalid(e.Range())
}

func (f *finder) invalid(at hcl.Range) {
	f.errs = f.errs.Append(tfdiags.Errorf("Invalid reference to a root module",
		"The word root must be followed by the name of a root module in brackets, as in "+
			"root[\"prod/network\"].vpc_id.").At(at))
}

// computed finds root[EXPRESSION].OUTPUT.
func (f *finder) computed(index *hclsyntax.IndexExpr, rest hcl.Traversal, ctx *hcl.EvalContext) {
	key, diags := index.Key.Value(ctx)
	key, _ = key.Unmark()
	switch {
	case diags.HasErrors() && !refersTo(index.Key, "root"):
		f.errs = f.errs.AppendHCL(diags)
	case diags.HasErrors(), !key.IsKnown():
		f.errs = f.errs.Append(tfdiags.Errorf("Unknown name of a root module",
			"The name must be known before anything is planned, so it must not depend on outputs of root "+
				"modules.").At(index.Key.Range()))
	case key.IsNull() || key.Type() != cty.String:
		f.invalid(index.Range())
	default:
		f.add(key.AsString(), rest, index.Range())
	}
}

// refersTo reports whether an expression contains a reference whose first part is name.
func refersTo(expr hclsyntax.Expression, name string) bool {
	return slices.ContainsFunc(expr.Variables(), func(t hcl.Traversal) bool { return t.RootName() == name })
}

// add adds a reference to a root module. rest is the part of the reference after the root module.
func (f *finder) add(root string, rest hcl.Traversal, at hcl.Range) {
	ref := Ref{Root: root}
	if len(rest) > 0 {
		switch step := rest[0].(type) {
		case hcl.TraverseAttr:
			ref.Output = step.Name
		case hcl.TraverseIndex:
			if step.Key.Type() == cty.String {
				ref.Output = step.Key.AsString()
			}
		}
	}
	if f.seen[ref] {
		return
	}
	f.seen[ref] = true
	ref.Range = at
	f.refs = append(f.refs, ref)
}

// loop finds the references in a "for" expression. If the collection is known, it visits the body
// once per element. Otherwise, for example if the collection uses outputs of root modules, it
// visits the body once with unknown values.
func (f *finder) loop(e *hclsyntax.ForExpr, ctx *hcl.EvalContext) {
	before := len(f.refs)
	f.find(e.CollExpr, ctx)
	collection := cty.DynamicVal
	if len(f.refs) == before {
		v, diags := e.CollExpr.Value(ctx)
		if diags.HasErrors() {
			f.errs = f.errs.AppendHCL(diags)
			return
		}
		collection, _ = v.Unmark()
	}
	body := func(key, value cty.Value) {
		inner := ctx.NewChild()
		inner.Variables = map[string]cty.Value{e.ValVar: value}
		if e.KeyVar != "" {
			inner.Variables[e.KeyVar] = key
		}
		for _, part := range []hclsyntax.Expression{e.KeyExpr, e.ValExpr, e.CondExpr} {
			if part != nil {
				f.find(part, inner)
			}
		}
	}
	if collection.IsNull() || !collection.IsKnown() || !collection.CanIterateElements() {
		body(cty.DynamicVal, cty.DynamicVal)
		return
	}
	for it := collection.ElementIterator(); it.Next(); {
		body(it.Element())
	}
}
