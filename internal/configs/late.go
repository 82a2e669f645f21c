package configs

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// Late arguments are meta-arguments that the engine needs as constants, but that refer to variables or
// local values. They are evaluated when a module tree is loaded, for each call of a module.

// late reports whether a lifecycle argument is not constant. It is then a late argument.
func (d *decoder) late(r *Resource, attr *hcl.Attribute) bool {
	if !refersToValues(attr.Expr) {
		return false
	}
	if r.Lifecycle.late == nil {
		r.Lifecycle.late = map[string]hcl.Expression{}
	}
	r.Lifecycle.late[attr.Name] = attr.Expr
	return true
}

// refersToValues reports whether an expression refers to variables or local values, and to nothing else.
func refersToValues(expr hcl.Expression) bool {
	refs := funcs.Variables(expr)
	return len(refs) > 0 && !slices.ContainsFunc(refs, func(tr hcl.Traversal) bool { return !isValue(tr) })
}

func isValue(tr hcl.Traversal) bool {
	return len(tr) > 1 && (tr.RootName() == "var" || tr.RootName() == "local")
}

// lateIgnoreChanges reports whether ignore_changes is an expression instead of attributes, or a list some
// of whose elements are.
func (d *decoder) lateIgnoreChanges(r *Resource, attr *hcl.Attribute) bool {
	exprs, diags := hcl.ExprList(attr.Expr)
	if diags.HasErrors() {
		return d.late(r, attr)
	}
	if !slices.ContainsFunc(exprs, refersToValues) {
		return false
	}
	if r.Lifecycle.late == nil {
		r.Lifecycle.late = map[string]hcl.Expression{}
	}
	r.Lifecycle.late[attr.Name] = attr.Expr
	return true
}

// dependsOn decodes depends_on: references, which may have keys such as each.key, and conditional
// expressions. A reference with such a key stands for all instances.
func (d *decoder) dependsOn(attr *hcl.Attribute) (out []hcl.Traversal, late []hcl.Expression) {
	exprs, diags := hcl.ExprList(attr.Expr)
	if diags.HasErrors() {
		d.addHCL(diags)
		return nil, nil
	}
	for _, expr := range exprs {
		if _, ok := bare(expr).(*hclsyntax.ConditionalExpr); ok {
			late = append(late, expr)
			continue
		}
		traversal, diags := hcl.AbsTraversalForExpr(wholeOf(d.unquote(expr, "references")))
		d.addReference(expr, diags)
		if len(traversal) > 0 {
			out = append(out, traversal)
		}
	}
	return out, late
}

// bare returns an expression without parentheses around it.
func bare(expr hcl.Expression) hcl.Expression {
	for {
		inner, ok := expr.(*hclsyntax.ParenthesesExpr)
		if !ok {
			return expr
		}
		expr = inner.Expression
	}
}

// wholeOf returns the resource or module of an instance whose key is not constant, and other
// expressions unchanged.
func wholeOf(expr hcl.Expression) hcl.Expression {
	switch e := bare(expr).(type) {
	case *hclsyntax.IndexExpr:
		return wholeOf(e.Collection)
	case *hclsyntax.RelativeTraversalExpr:
		if index, ok := bare(e.Source).(*hclsyntax.IndexExpr); ok {
			return wholeOf(index.Collection)
		}
	}
	return expr
}

// hasLate reports whether any block has late arguments.
func (m *Module) hasLate() bool {
	for _, r := range m.Resources {
		if len(r.lateDependsOn)+len(r.Lifecycle.late) > 0 {
			return true
		}
	}
	for _, o := range m.Outputs {
		if len(o.lateDependsOn) > 0 {
			return true
		}
	}
	for _, call := range m.Calls {
		if len(call.lateDependsOn) > 0 {
			return true
		}
	}
	return false
}

// evaluateLate evaluates the late arguments and moved blocks of the module.
func (c *Config) evaluateLate() error {
	var moves error
	if c.static.env.moves || !c.lacksValues() {
		moves = c.ExpandMoves()
	}
	if !c.Module.late {
		return moves
	}
	l := &lateArguments{config: c}
	m := *c.Module
	m.late = false
	m.Resources, m.Outputs, m.Calls = maps.Clone(m.Resources), maps.Clone(m.Outputs), maps.Clone(m.Calls)
	for addr, r := range m.Resources {
		if len(r.lateDependsOn)+len(r.Lifecycle.late) == 0 {
			continue
		}
		own, user := *r, addr.String()
		own.DependsOn, own.lateDependsOn = l.dependsOn(r.DependsOn, r.lateDependsOn, user), nil
		own.Lifecycle = l.lifecycle(*r.Lifecycle, user)
		m.Resources[addr] = &own
		if r.Check != nil && m.Checks[r.Check.Name] == r.Check {
			check := *r.Check
			check.Data, own.Check = &own, &check
			m.Checks = maps.Clone(m.Checks)
			m.Checks[check.Name] = &check
		}
	}
	for name, o := range m.Outputs {
		if len(o.lateDependsOn) > 0 {
			own := *o
			own.DependsOn, own.lateDependsOn = l.dependsOn(o.DependsOn, o.lateDependsOn, "output."+name), nil
			m.Outputs[name] = &own
		}
	}
	for name, call := range m.Calls {
		if len(call.lateDependsOn) > 0 {
			own := *call
			own.DependsOn, own.lateDependsOn = l.dependsOn(call.DependsOn, call.lateDependsOn, "module."+name), nil
			m.Calls[name] = &own
		}
	}
	c.Module = &m
	l.errs.Sort()
	return tfdiags.Join(moves, l.errs.Err())
}

// lateArguments evaluates the late arguments of one module.
type lateArguments struct {
	config *Config
	errs   tfdiags.Diagnostics
}

// eval evaluates an expression. ok is false after an error, and if the value isn't known yet.
func (l *lateArguments) eval(expr hcl.Expression, want cty.Type, user string) (v cty.Value, ok bool) {
	v, err := l.config.StaticEval(expr, want, user)
	l.errs = l.errs.AppendError(err)
	return v, err == nil && v.IsWhollyKnown()
}

// dependsOn adds the references that the conditional expressions select. If a condition isn't known, it
// adds those of both results.
func (l *lateArguments) dependsOn(out []hcl.Traversal, late []hcl.Expression, user string) []hcl.Traversal {
	out = slices.Clone(out)
	for _, expr := range late {
		expr = wholeOf(expr)
		if cond, ok := bare(expr).(*hclsyntax.ConditionalExpr); ok {
			results := []hcl.Expression{cond.TrueResult, cond.FalseResult}
			if v, ok := l.eval(cond.Condition, cty.Bool, user+".depends_on"); ok {
				results = results[1:]
				if !v.IsNull() && v.True() {
					results = []hcl.Expression{cond.TrueResult}
				}
			}
			out = l.dependsOn(out, results, user)
			continue
		}
		if v, diags := expr.Value(nil); !diags.HasErrors() && v.IsNull() {
			continue
		}
		traversal, diags := hcl.AbsTraversalForExpr(expr)
		l.errs = l.errs.AppendHCL(diags)
		if len(traversal) > 0 {
			out = append(out, traversal)
		}
	}
	return out
}

func (l *lateArguments) lifecycle(out Lifecycle, user string) *Lifecycle {
	flags := map[string]*Opt[bool]{"create_before_destroy": &out.CreateBeforeDestroy, "destroy": &out.Destroy,
		"ignore_missing": &out.IgnoreMissing}
	for name, expr := range out.late {
		if name == "ignore_changes" {
			out.IgnoreChanges, out.IgnoreAll = l.ignoreChanges(expr, user+"."+name)
			continue
		}
		if v, ok := l.eval(expr, cty.Bool, user+"."+name); ok && !v.IsNull() {
			*flags[name] = Opt[bool]{Value: v.True(), Set: true}
		}
	}
	out.late = nil
	return &out
}

// ignoreChanges evaluates an expression whose value is "all", a path, or a list of paths. In a list that
// is written out, attributes and such expressions can be mixed.
func (l *lateArguments) ignoreChanges(expr hcl.Expression, user string) (paths []hcl.Traversal, all bool) {
	exprs, diags := hcl.ExprList(expr)
	if diags.HasErrors() {
		exprs = []hcl.Expression{expr}
	}
	for _, one := range exprs {
		if !refersToValues(one) {
			path, diags := hcl.RelTraversalForExpr(one)
			l.errs = l.errs.AppendHCL(diags)
			paths = append(paths, path)
			continue
		}
		v, ok := l.eval(one, cty.DynamicPseudoType, user)
		if !ok || v.IsNull() {
			continue
		}
		texts := []cty.Value{v}
		if v.Type() != cty.String {
			list, err := convert.Convert(v, cty.List(cty.String))
			if err != nil {
				l.errs.Add(tfdiags.Errorf("Invalid ignore_changes", "The value must be \"all\", the path of an attribute such as "+
					"\"tags.owner\", or a list of such paths.").At(one.Range()))
				continue
			}
			texts = list.AsValueSlice()
		}
		for _, text := range texts {
			switch path, err := attributePath(text, one.Range()); {
			case err != nil:
				l.errs = l.errs.AppendError(err)
			case path == nil:
				all = true
			default:
				paths = append(paths, path)
			}
		}
	}
	if all {
		return nil, true
	}
	return paths, false
}

// attributePath parses the path of an attribute. It returns nil for "all".
func attributePath(text cty.Value, at hcl.Range) (hcl.Traversal, error) {
	if text.IsNull() {
		return nil, tfdiags.Errorf("Invalid ignore_changes", "The path of an attribute must not be null.").At(at)
	}
	if text.AsString() == "all" {
		return nil, nil
	}
	abs, diags := hclsyntax.ParseTraversalAbs([]byte(text.AsString()), at.Filename, at.Start)
	if diags.HasErrors() {
		return nil, tfdiags.Errorf("Invalid ignore_changes", "%q is not the path of an attribute, such as \"tags.owner\" or "+
			"\"rules[0]\".", text.AsString()).At(at)
	}
	root := abs[0].(hcl.TraverseRoot)
	abs[0] = hcl.TraverseAttr{Name: root.Name, SrcRange: root.SrcRange}
	return abs, nil
}
