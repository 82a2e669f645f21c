package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/lang/funcs"
)

// While a finder visits an expression, it notes what selects instances of objects, and which
// conditions and loops are around them. The methods selected and surround turn these notes into
// InstanceRefs.

// index is an expression that selects an instance of an object.
type index struct {
	key hclsyntax.Expression
	how Selection
	rng hcl.Range
}

// surrounding is a condition or a loop around an expression.
type surrounding struct {
	expr  hclsyntax.Expression // the condition, or the collection of the loop
	holds bool                 // the result of the condition that selects the branch being visited
	loop  *loopNames           // nil for a condition
}

// selectors holds the functions that select an instance of their first argument by their second.
var selectors = map[string]Selection{"lookup": ByLookup, "element": ByElement}

// noteAround records the conditions and loops around an object that may be a resource, a module call
// or a value with an index.
func (f *finder) noteAround(e *hclsyntax.ScopeTraversalExpr) {
	if len(f.within) == 0 {
		return
	}
	at := startOf(e.Traversal.SourceRange())
	switch e.Traversal.RootName() {
	case "each", "count", "path", "terraform", "self":
		return
	case "var", "local":
		if f.indexes[at].key == nil {
			return
		}
	}
	if f.around == nil {
		f.around = map[place][]surrounding{}
	}
	f.around[at] = slices.Clone(f.within)
}

// noteIndex records the index of an expression that selects an instance of an object.
func (f *finder) noteIndex(e hclsyntax.Expression) {
	object, by := selection(e)
	if object == nil {
		return
	}
	if f.indexes == nil {
		f.indexes = map[place]index{}
	}
	f.indexes[startOf(object.Traversal.SourceRange())] = by
}

// noteOutput records the name in an expression such as OBJECT[INDEX].NAME or values(OBJECT)[1].NAME.
func (f *finder) noteOutput(e *hclsyntax.RelativeTraversalExpr) {
	object, _ := selection(e.Source)
	rest := e.Traversal
	if _, splat := bare(e.Source).(*hclsyntax.SplatExpr); object == nil && !splat && len(rest) > 1 {
		object, _ = selection(e)
		rest = rest[1:]
	}
	if object != nil {
		f.noteName(object, rest)
	}
}

// noteSplat records the name in OBJECT[*].NAME or values(OBJECT)[*].NAME.
func (f *finder) noteSplat(e *hclsyntax.SplatExpr) {
	object, _ := collection(e.Source)
	if each, ok := e.Each.(*hclsyntax.RelativeTraversalExpr); ok && object != nil {
		f.noteName(object, each.Traversal)
	}
}

// selection returns the object of which an expression selects an instance, and the index that
// selects it: OBJECT[INDEX], OBJECT.*…[INDEX], values(OBJECT)…[INDEX], or a call of one of the selectors. It
// returns nil for all other expressions. There may be parentheses around the parts before the index.
func selection(expr hclsyntax.Expression) (object *hclsyntax.ScopeTraversalExpr, by index) {
	switch e := expr.(type) {
	case *hclsyntax.IndexExpr:
		object, how := collection(e.Collection)
		return object, index{e.Key, how, e.BracketRange}
	case *hclsyntax.RelativeTraversalExpr:
		object, how := collection(e.Source)
		if first, constant := e.Traversal[0].(hcl.TraverseIndex); constant {
			key := &hclsyntax.LiteralValueExpr{Val: first.Key, SrcRange: first.SrcRange}
			return object, index{key, how, first.SrcRange}
		}
	case *hclsyntax.FunctionCallExpr:
		how, ok := selectors[strings.TrimPrefix(e.Name, funcs.Namespace)]
		if !ok || len(e.Args) < 2 || e.ExpandFinal {
			return nil, index{}
		}
		object, list := collection(e.Args[0])
		if list == ByOrder || list == ByPosition && how != ByElement {
			return nil, index{}
		}
		return object, index{e.Args[1], how, e.Args[1].Range()}
	}
	return nil, index{}
}

// collection returns the object that an expression is, or of whose instances it is a list, and how an index
// after the expression selects an instance.
func collection(expr hclsyntax.Expression) (object *hclsyntax.ScopeTraversalExpr, how Selection) {
	switch e := bare(expr).(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return e, ByIndex
	case *hclsyntax.SplatExpr:
		object, how = collection(e.Source)
		return object, max(how, ByPosition)
	case *hclsyntax.FunctionCallExpr:
		if strings.TrimPrefix(e.Name, funcs.Namespace) == "values" && len(e.Args) == 1 && !e.ExpandFinal {
			object, _ = bare(e.Args[0]).(*hclsyntax.ScopeTraversalExpr)
			return object, ByOrder
		}
	}
	return nil, ByIndex
}

// bare returns an expression without parentheses around it.
func bare(expr hclsyntax.Expression) hclsyntax.Expression {
	for {
		inner, ok := expr.(*hclsyntax.ParenthesesExpr)
		if !ok {
			return expr
		}
		expr = inner.Expression
	}
}

// noteName records which output or attribute is read from the selected instances of an object, such as NAME
// in module.CALL[INDEX].NAME. rest is the traversal after the index or splat.
func (f *finder) noteName(object *hclsyntax.ScopeTraversalExpr, rest hcl.Traversal) {
	name, named := rest[0].(hcl.TraverseAttr)
	if !named {
		return
	}
	if f.names == nil {
		f.names = map[place]string{}
	}
	f.names[startOf(object.Traversal.SourceRange())] = name.Name
}

// named returns the noted names by the references that they follow.
func (f *finder) named(objects []*addrs.Reference) map[*addrs.Reference]string {
	if len(f.names) == 0 {
		return nil
	}
	out := map[*addrs.Reference]string{}
	for _, ref := range objects {
		if name := f.names[startOf(ref.Range)]; name != "" && len(ref.Remaining) == 0 {
			out[ref] = name
		}
	}
	return out
}

// selected returns the references that select instances by a computed index, or that are used only
// under a condition.
func (f *finder) selected(objects []*addrs.Reference, scope addrs.Scope) map[*addrs.Reference]InstanceRef {
	if len(f.indexes)+len(f.around) == 0 {
		return nil
	}
	out := map[*addrs.Reference]InstanceRef{}
	parts := newParts(scope)
	for _, ref := range objects {
		at := startOf(ref.Range)
		index, around := f.indexes[at], f.around[at]
		switch ref.Subject.(type) {
		case addrs.Resource, addrs.ModuleCall:
			if index.key == nil || len(ref.Remaining) > 0 {
				continue
			}
			if one, ok := parts.instance(index, around); ok {
				one.Output = f.names[at]
				out[ref] = one
			}
		case addrs.ResourceInstance, addrs.ModuleCallInstance, addrs.ModuleCallOutput:
			if around == nil {
				continue
			}
			one := InstanceRef{Range: ref.Range}
			if parts.surround(&one, around) {
				out[ref] = one
			}
		}
	}
	return out
}

// parts analyzes the parts of an expression that decide which instances it reads. Each part is
// analyzed once.
type parts struct {
	scope addrs.Scope
	known map[hclsyntax.Expression]*Expr
}

func newParts(scope addrs.Scope) *parts {
	return &parts{scope: scope, known: map[hclsyntax.Expression]*Expr{}}
}

// instance returns the reference for an index. It returns false if the index, or the collection of a
// loop whose names it uses, can't be evaluated on its own.
func (p *parts) instance(by index, around []surrounding) (InstanceRef, bool) {
	ref := InstanceRef{Index: p.analyze(by.key, around), How: by.how, Range: by.rng}
	return ref, ref.Index.standsAlone() && p.surround(&ref, around)
}

// analyze analyzes an expression that can use the names of the loops around it.
func (p *parts) analyze(expr hclsyntax.Expression, around []surrounding) *Expr {
	out := p.known[expr]
	if out == nil {
		f := finder{within: slices.DeleteFunc(slices.Clone(around), func(s surrounding) bool { return s.loop == nil })}
		f.inExpr(expr)
		out = &Expr{Expression: expr, Refs: f.refs(p.scope)}
		p.known[expr] = out
	}
	return out
}

// surround sets the conditions and loops around a reference. It leaves out those from the first loop
// on if the index doesn't use names of loops. It returns false if the collection of a loop can't be
// evaluated on its own.
func (p *parts) surround(ref *InstanceRef, around []surrounding) bool {
	if ref.Index == nil || !usesNames(ref.Index, around) {
		around = outsideLoops(around)
	} else if ref.How.NeedsList() {
		return false // the indexes decide how long the list must be
	}
	for i, s := range around {
		part := p.analyze(s.expr, around[:i])
		switch alone := part.standsAlone(); {
		case s.loop != nil && !alone:
			return false
		case s.loop != nil:
			ref.Loops = append(ref.Loops, Loop{part, *s.loop})
		case alone:
			ref.Guards = append(ref.Guards, Guard{part, s.holds, len(ref.Loops)})
		}
	}
	return true
}

// usesNames reports whether an expression uses a name that a loop around it defines.
func usesNames(expr hcl.Expression, around []surrounding) bool {
	return len(outsideLoops(around)) < len(around) && slices.ContainsFunc(expr.Variables(), func(tr hcl.Traversal) bool {
		return defined(tr, around)
	})
}

// outsideLoops returns the conditions outside of the first loop.
func outsideLoops(around []surrounding) []surrounding {
	if first := slices.IndexFunc(around, func(s surrounding) bool { return s.loop != nil }); first >= 0 {
		return around[:first]
	}
	return around
}

// defined reports whether a traversal starts with a name that a loop defines.
func defined(tr hcl.Traversal, around []surrounding) bool {
	return slices.ContainsFunc(around, func(s surrounding) bool {
		return s.loop != nil && s.loop.defines(tr.RootName())
	})
}

// standsAlone reports whether an expression can be evaluated on its own, which means that it has no
// errors and doesn't refer to "self".
func (e *Expr) standsAlone() bool {
	isSelf := func(ref *addrs.Reference) bool { return ref.Subject == addrs.Self{} }
	return len(e.Refs.Problems) == 0 && !slices.ContainsFunc(e.Refs.Objects, isSelf)
}
