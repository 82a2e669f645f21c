package symlib

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/funcs"
)

// userFunc is a function of a library.
type userFunc struct {
	library *Library
	at      hcl.Range
	params  []*param
	typ     *constraint // of the result; nil for any
	locals  []local     // in the order in which they are evaluated
	result  hclsyntax.Expression
	calls   map[*userFunc]bool
}

type local struct {
	name string
	expr hclsyntax.Expression
}

// param is a parameter. Only the last one may be variadic.
type param struct {
	name     string
	typ      *constraint // nil for any
	variadic bool
	rules    []rule
}

type rule struct{ condition, message hclsyntax.Expression }

// constraint is a type with default values of optional attributes.
type constraint struct {
	expr     hclsyntax.Expression
	typ      cty.Type
	defaults *typeexpr.Defaults
}

func (c *constraint) convert(v cty.Value) (cty.Value, error) {
	if c == nil {
		return v, nil
	}
	if c.defaults != nil && !v.IsNull() {
		v = c.defaults.Apply(v)
	}
	return convert.Convert(v, c.typ)
}

var (
	functionSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "description"}, {Name: "type"}, {Name: "return", Required: true}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "parameter", LabelNames: []string{"name"}}, {Type: "locals"}},
	}
	parameterSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "description"}, {Name: "type"}, {Name: "variadic"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "validation"}},
	}
	validationSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "condition", Required: true},
		{Name: "error_message", Required: true}}}
)

func native(attr *hcl.Attribute) hclsyntax.Expression {
	if attr == nil {
		return nil
	}
	return attr.Expr.(hclsyntax.Expression)
}

func newConstraint(attr *hcl.Attribute) *constraint {
	if attr == nil {
		return nil
	}
	return &constraint{expr: native(attr)}
}

func decodeFunction(l *Library, block *hcl.Block) (*userFunc, hcl.Diagnostics) {
	f := &userFunc{library: l, at: block.DefRange, calls: map[*userFunc]bool{}}
	content, diags := block.Body.Content(functionSchema)
	f.typ, f.result = newConstraint(content.Attributes["type"]), native(content.Attributes["return"])
	for _, inner := range content.Blocks {
		if inner.Type == "locals" {
			attrs, more := inner.Body.JustAttributes()
			diags = append(diags, more...)
			for _, name := range slices.Sorted(maps.Keys(attrs)) {
				f.locals = append(f.locals, local{name, native(attrs[name])})
			}
			continue
		}
		p, more := decodeParameter(inner)
		diags = append(diags, more...)
		if n := len(f.params); n > 0 && f.params[n-1].variadic {
			diags = append(diags, errorAt(inner.DefRange, "Parameter after a variadic one", "Only the last parameter of a function can be "+
				"variadic."))
		}
		f.params = append(f.params, p)
	}
	return f, diags
}

func decodeParameter(block *hcl.Block) (*param, hcl.Diagnostics) {
	p := &param{name: block.Labels[0]}
	content, diags := block.Body.Content(parameterSchema)
	p.typ = newConstraint(content.Attributes["type"])
	if attr := content.Attributes["variadic"]; attr != nil {
		v, more := attr.Expr.Value(nil)
		diags = append(diags, more...)
		if !more.HasErrors() && (v.Type() != cty.Bool || v.IsNull()) {
			diags = append(diags, errorAt(attr.Expr.Range(), "Invalid parameter", "variadic must be true or false."))
		} else if !more.HasErrors() {
			p.variadic = v.True()
		}
	}
	for _, inner := range content.Blocks {
		rules, more := inner.Body.Content(validationSchema)
		diags = append(diags, more...)
		if !more.HasErrors() {
			p.rules = append(p.rules, rule{native(rules.Attributes["condition"]), native(rules.Attributes["error_message"])})
		}
	}
	return p, diags
}

// compile resolves what the function refers to.
func (f *userFunc) compile() hcl.Diagnostics {
	r := &rewriter{imports: f.library.imports, own: f.library, calls: f.calls, types: true}
	for _, c := range f.constraints() {
		c.expr = r.expr(c.expr)
		var diags hcl.Diagnostics
		c.typ, c.defaults, diags = funcs.ParseType(c.expr)
		r.diags = append(r.diags, diags...)
	}
	r.types = false
	params, locals := map[string]bool{}, map[string]bool{}
	for _, p := range f.params {
		params[p.name] = true
	}
	for _, p := range f.params {
		for i := range p.rules {
			p.rules[i].condition, p.rules[i].message = r.expr(p.rules[i].condition), r.expr(p.rules[i].message)
			r.diags = append(append(r.diags, checkNames(p.rules[i].condition, params, nil)...),
				checkNames(p.rules[i].message, params, nil)...)
		}
	}
	for _, l := range f.locals {
		locals[l.name] = true
	}
	for i := range f.locals {
		f.locals[i].expr = r.expr(f.locals[i].expr)
		r.diags = append(r.diags, checkNames(f.locals[i].expr, params, locals)...)
	}
	if f.result != nil {
		f.result = r.expr(f.result)
		r.diags = append(r.diags, checkNames(f.result, params, locals)...)
	}
	r.diags = append(r.diags, f.orderLocals()...)
	return r.diags
}

// checkNames returns an error for each reference of an expression to something other than the given parameters and
// local values. References to symbols have been replaced.
func checkNames(e hclsyntax.Expression, params, locals map[string]bool) (diags hcl.Diagnostics) {
	for _, tr := range funcs.Variables(e) {
		known := map[string]map[string]bool{"param": params, "local": locals}[tr.RootName()]
		attr, ok := tr[min(1, len(tr)-1)].(hcl.TraverseAttr)
		if ok && known[attr.Name] || len(tr) == 1 && known != nil {
			continue
		}
		name := tr.RootName()
		if ok {
			name += "." + attr.Name
		}
		diags = append(diags, errorAt(tr.SourceRange(), "Unknown name in a symbol library", "%s doesn't exist here. A function can "+
			"refer to its parameters (param.NAME), its local values (local.NAME) and symbols; a value only to symbols.", name))
	}
	return diags
}

func (f *userFunc) constraints() (out []*constraint) {
	if f.typ != nil {
		out = append(out, f.typ)
	}
	for _, p := range f.params {
		if p.typ != nil {
			out = append(out, p.typ)
		}
	}
	return out
}

// orderLocals sorts the local values so that each one is after those to which it refers.
func (f *userFunc) orderLocals() hcl.Diagnostics {
	byName := make(map[string]local, len(f.locals))
	for _, l := range f.locals {
		byName[l.name] = l
	}
	var out []local
	state := map[string]int{} // 1: begun; 2: done
	var visit func(name string) hcl.Diagnostics
	visit = func(name string) (diags hcl.Diagnostics) {
		l, ok := byName[name]
		switch {
		case !ok || state[name] == 2: // evaluation reports names that don't exist
			return nil
		case state[name] == 1:
			return hcl.Diagnostics{errorAt(l.expr.Range(), "Local value refers to itself", "local.%s is needed to evaluate itself.", name)}
		}
		state[name] = 1
		for _, tr := range l.expr.Variables() {
			if attr, ok := tr[min(1, len(tr)-1)].(hcl.TraverseAttr); ok && tr.RootName() == "local" {
				diags = append(diags, visit(attr.Name)...)
			}
		}
		state[name] = 2
		out = append(out, l)
		return diags
	}
	var diags hcl.Diagnostics
	for _, l := range f.locals {
		diags = append(diags, visit(l.name)...)
	}
	f.locals = out
	return diags
}

// reaches reports whether f calls the function of, directly or through others.
func (f *userFunc) reaches(of *userFunc, seen map[*userFunc]bool) bool {
	for called := range f.calls {
		if called == of {
			return true
		}
		if !seen[called] {
			seen[called] = true
			if called.reaches(of, seen) {
				return true
			}
		}
	}
	return false
}

// function returns the function in HCL's form. Arguments may be unknown, null and marked.
func (f *userFunc) function() function.Function {
	spec := &function.Spec{
		Type: func([]cty.Value) (cty.Type, error) {
			if f.typ == nil {
				return cty.DynamicPseudoType, nil
			}
			return f.typ.typ.WithoutOptionalAttributesDeep(), nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.call(args) },
	}
	for _, p := range f.params {
		one := function.Parameter{Name: p.name, Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true,
			AllowDynamicType: true, AllowMarked: true}
		if p.variadic {
			spec.VarParam = &one
		} else {
			spec.Params = append(spec.Params, one)
		}
	}
	return function.New(spec)
}

func (f *userFunc) call(args []cty.Value) (cty.Value, error) {
	params, locals := make(map[string]cty.Value, len(f.params)), make(map[string]cty.Value, len(f.locals))
	ctx := &hcl.EvalContext{Functions: f.library.builtin(), Variables: map[string]cty.Value{}}
	for i, p := range f.params {
		v, err := p.argument(i, args)
		if err != nil {
			return cty.NilVal, err
		}
		params[p.name] = v
	}
	ctx.Variables["param"] = cty.ObjectVal(params)
	for i, p := range f.params {
		if err := p.check(i, ctx); err != nil {
			return cty.NilVal, err
		}
	}
	for _, l := range f.locals {
		ctx.Variables["local"] = cty.ObjectVal(locals)
		v, diags := l.expr.Value(ctx)
		if diags.HasErrors() {
			return cty.NilVal, inFunction(diags)
		}
		locals[l.name] = v
	}
	ctx.Variables["local"] = cty.ObjectVal(locals)
	v, diags := f.result.Value(ctx)
	if diags.HasErrors() {
		return cty.NilVal, inFunction(diags)
	}
	v, err := f.typ.convert(v)
	if err != nil {
		return cty.NilVal, fmt.Errorf("%s: the result doesn't have the declared type: %w", place(f.result.Range()), err)
	}
	return v, nil
}

func place(at hcl.Range) string { return fmt.Sprintf("%s:%d", at.Filename, at.Start.Line) }

// inFunction returns the first error in the body of a function, with its place.
func inFunction(diags hcl.Diagnostics) error {
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			if d.Subject == nil {
				return fmt.Errorf("%s: %s", d.Summary, d.Detail)
			}
			return fmt.Errorf("%s: %s: %s", place(*d.Subject), d.Summary, strings.TrimSuffix(d.Detail, "."))
		}
	}
	return diags
}

// argument returns the value of the parameter with the index i.
func (p *param) argument(i int, args []cty.Value) (cty.Value, error) {
	if !p.variadic {
		v, err := p.typ.convert(args[i])
		if err != nil {
			return v, function.NewArgError(i, err)
		}
		return v, nil
	}
	rest := slices.Clone(args[i:])
	for n := range rest {
		v, err := p.typ.convert(rest[n])
		if err != nil {
			return v, function.NewArgError(i+n, err)
		}
		rest[n] = v
	}
	switch {
	case len(rest) == 0 && p.typ != nil:
		return cty.ListValEmpty(p.typ.typ.WithoutOptionalAttributesDeep()), nil
	case len(rest) > 0 && cty.CanListVal(rest):
		return cty.ListVal(rest), nil
	}
	return cty.TupleVal(rest), nil
}

// check checks the rules of the parameter with the index i.
func (p *param) check(i int, ctx *hcl.EvalContext) error {
	for _, r := range p.rules {
		v, diags := r.condition.Value(ctx)
		if diags.HasErrors() {
			return inFunction(diags)
		}
		v, _ = v.Unmark()
		v, err := convert.Convert(v, cty.Bool)
		switch {
		case err != nil || v.IsNull():
			return fmt.Errorf("%s: the condition must be true or false", place(r.condition.Range()))
		case !v.IsKnown() || v.True():
			continue
		}
		message, diags := r.message.Value(ctx)
		if diags.HasErrors() {
			return inFunction(diags)
		}
		message, messageMarks := message.Unmark()
		if message, err = convert.Convert(message, cty.String); err != nil || message.IsNull() || !message.IsKnown() ||
			len(messageMarks) > 0 {
			return function.NewArgErrorf(i, "the value is not valid (%s)", place(r.condition.Range()))
		}
		return function.NewArgErrorf(i, "%s", message.AsString())
	}
	return nil
}
