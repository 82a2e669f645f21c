package lang

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/addrs"
	"tofu/internal/lang/coerce"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// Data provides the values of the objects that expressions refer to.
type Data interface {
	// Value returns the whole value of an object, such as a resource with all its instances, an
	// input variable or count.index. Module calls and their outputs are read with Module instead.
	Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, error)

	// Instances returns a value that contains only the given instances of a resource, by key or in a
	// list, or only the given elements of a local or an input variable, in a list. It is for an
	// expression that refers to no others. If it returns false, the caller should use the value of
	// the whole object.
	Instances(subject addrs.Referenceable, of Instances) (v cty.Value, ok bool)

	// Module returns the value of a module call, with at least the parts that an expression uses.
	Module(call string, use CallUse) (cty.Value, error)

	// Function returns a provider function.
	Function(ref addrs.ProviderFunction, rng hcl.Range) (function.Function, error)
}

// CallUse says which parts of a module call an expression uses.
type CallUse struct {
	Outputs []string // names of the outputs, sorted; nil means all
	// Keyless reports whether names directly follow the call instead of an instance key, as in
	// module.NAME.OUTPUT. If the call has several instances, such names may be instance keys.
	Keyless bool
	// Keyed reports whether an index follows the call in some reference. If the call has one instance, the index
	// selects an output.
	Keyed bool
	// Of lists the instances, by key, if the expression refers to no others; nil means all.
	Of Instances
	// Lists holds the elements of outputs that the expression reads from a list, by output. It has
	// no entries for outputs of which the expression uses all elements, or elements by key.
	Lists map[string]Instances
	Range hcl.Range // range of the first reference
}

// Scope provides the values and functions for evaluation.
type Scope struct {
	Data      Data
	Functions map[string]function.Function
}

// Context returns an HCL evaluation context with everything in refs. It can be used for several
// evaluations.
func (s *Scope) Context(refs Refs) (*hcl.EvalContext, error) {
	ctx, err := s.variables(refs)
	ctx.Functions = s.Functions
	if len(refs.Functions) == 0 {
		return ctx, err
	}
	errs := tfdiags.FromError(err)
	ctx.Functions = maps.Clone(s.Functions)
	for _, ref := range refs.Functions {
		f, err := s.Data.Function(ref.Func, ref.Range)
		if err != nil {
			errs = errs.AppendError(err)
			continue
		}
		ctx.Functions[ref.Func.String()] = f
	}
	return ctx, errs.Err()
}

// namespaces collects the values of references by name, in the structure in which HCL looks them
// up: one map per level of attribute access.
type namespaces struct {
	roots   map[string]cty.Value            // root names with complete values, such as self
	members map[string]map[string]cty.Value // members of root names: var.x, path.x, TYPE.name, etc.
	nested  map[string]map[string]map[string]cty.Value
	long    bool // managed resources are needed under "resource" as well
}

func (s *Scope) variables(refs Refs) (*hcl.EvalContext, error) {
	ns := namespaces{long: refs.longForm, roots: map[string]cty.Value{}, members: map[string]map[string]cty.Value{}}
	var errs tfdiags.Diagnostics
	var calls map[string]*callOutputs
	for _, ref := range refs.Objects {
		subject := ref.Whole()
		if call, output, ok := ModuleSubject(subject); ok {
			if calls == nil {
				calls = map[string]*callOutputs{}
			}
			keyless := call.Key == addrs.NoKey
			if computed := refs.selected[ref]; computed.Index != nil {
				output, keyless = computed.Output, false
			}
			c := calls[call.Name].with(output, keyless, ref.Range)
			calls[call.Name] = c
			if _, again := c.lists[output]; !again {
				c.listed(output, refs.listed(ref))
			}
			continue
		}
		members, name := ns.place(subject)
		if _, again := members[name]; again {
			continue
		}
		v, err := s.object(subject, &refs, ref)
		errs = errs.AppendError(err)
		members[name] = v
		if r, ok := subject.(addrs.Resource); ok && ns.long && r.Mode == addrs.Managed {
			ns.nestedIn("resource", r.Type)[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) { // sorted, so that errors are in a fixed order
		c := calls[name]
		of, _ := refs.CallInstances(name)
		v, err := s.Data.Module(name, CallUse{Outputs: c.names(), Keyless: c.keyless, Keyed: c.keyed, Of: of,
			Lists: c.lists, Range: c.rng})
		if err != nil {
			errs, v = errs.AppendError(err), cty.DynamicVal
		}
		if how, _ := of.FromList(); how == ByElement {
			v = s.shortened(v, of)
		}
		ns.in("module")[name] = s.shortenedOutputs(v, c.lists)
	}
	return ns.context(), errs.Err()
}

// object returns the value of a referenced object. ref is the first reference to it. If there is an
// error, the value is unknown.
func (s *Scope) object(subject addrs.Referenceable, refs *Refs, ref *addrs.Reference) (cty.Value, error) {
	of := refs.listed(ref)
	if r, ok := subject.(addrs.Resource); ok {
		of, _ = refs.ByInstance(r)
	}
	if of != nil {
		if v, ok := s.Data.Instances(subject, of); ok {
			return v, nil
		}
	}
	v, err := s.Data.Value(subject, ref.Range)
	if err != nil {
		return cty.DynamicVal, err
	}
	if how, _ := of.FromList(); how == ByElement {
		v = s.shortened(v, of)
	}
	return v, nil
}

// callOutputs holds those outputs of a module call that an expression uses.
type callOutputs struct {
	all     bool
	keyless bool
	keyed   bool
	outputs map[string]bool
	lists   map[string]Instances // see CallUse.Lists
	rng     hcl.Range
}

func (c *callOutputs) with(output string, keyless bool, rng hcl.Range) *callOutputs {
	if c == nil {
		c = &callOutputs{outputs: map[string]bool{}, rng: rng}
	}
	c.keyless, c.keyed = c.keyless || keyless, c.keyed || !keyless
	if output == "" {
		c.all = true
	} else {
		c.outputs[output] = true
	}
	return c
}

// listed records the elements that are read from a list in an output. It does nothing if of is nil.
func (c *callOutputs) listed(output string, of Instances) {
	if of == nil {
		return
	}
	if c.lists == nil {
		c.lists = map[string]Instances{}
	}
	c.lists[output] = of
}

func (c *callOutputs) names() []string {
	if c.all {
		return nil
	}
	return slices.Sorted(maps.Keys(c.outputs))
}

// ModuleSubject returns the module call that a reference is to, and the name of the output, or ""
// if the whole call is referenced. It returns false for all other references.
func ModuleSubject(subject addrs.Referenceable) (call addrs.ModuleCallInstance, output string, ok bool) {
	switch s := subject.(type) {
	case addrs.ModuleCall:
		return addrs.ModuleCallInstance{Name: s.Name}, "", true
	case addrs.ModuleCallInstance:
		return s, "", true
	case addrs.ModuleCallOutput:
		return s.Call, s.Output, true
	}
	return addrs.ModuleCallInstance{}, "", false
}

// place returns the map and the key at which an object's value is stored.
func (ns *namespaces) place(subject addrs.Referenceable) (members map[string]cty.Value, name string) {
	switch s := subject.(type) {
	case addrs.Self:
		return ns.roots, "self"
	case addrs.Caller:
		return ns.roots, "caller"
	case addrs.Resource:
		switch s.Mode {
		case addrs.Data:
			return ns.nestedIn("data", s.Type), s.Name
		case addrs.Ephemeral:
			return ns.nestedIn("ephemeral", s.Type), s.Name
		default:
			return ns.in(s.Type), s.Name
		}
	default:
		root, name, _ := strings.Cut(subject.String(), ".")
		return ns.in(root), name
	}
}

// in returns the members of a root name.
func (ns *namespaces) in(root string) map[string]cty.Value {
	members := ns.members[root]
	if members == nil {
		members = map[string]cty.Value{}
		ns.members[root] = members
	}
	return members
}

// nestedIn returns the members of a type below a root name.
func (ns *namespaces) nestedIn(root, typ string) map[string]cty.Value {
	if ns.nested == nil {
		ns.nested = map[string]map[string]map[string]cty.Value{}
	}
	types := ns.nested[root]
	if types == nil {
		types = map[string]map[string]cty.Value{}
		ns.nested[root] = types
	}
	if types[typ] == nil {
		types[typ] = map[string]cty.Value{}
	}
	return types[typ]
}

func (ns *namespaces) context() *hcl.EvalContext {
	vars := ns.roots
	for root, members := range ns.members {
		vars[root] = cty.ObjectVal(members)
	}
	for root, types := range ns.nested {
		byType := make(map[string]cty.Value, len(types))
		for typ, names := range types {
			byType[typ] = cty.ObjectVal(names)
		}
		vars[root] = cty.ObjectVal(byType)
	}
	return &hcl.EvalContext{Variables: vars}
}

// Eval evaluates an analyzed expression and converts the result to want, unless that is
// cty.DynamicPseudoType. If there is an error, the value is unknown.
func (s *Scope) Eval(expr *Expr, want cty.Type) (cty.Value, error) {
	ctx, err := s.Context(expr.Refs)
	if err != nil {
		return cty.UnknownVal(want), err
	}
	return evalIn(ctx, expr, want)
}

// EvalExpr analyzes and evaluates an expression. It is for expressions that are evaluated only
// once.
func (s *Scope) EvalExpr(expr hcl.Expression, want cty.Type) (cty.Value, error) {
	analyzed := Analyze(expr, addrs.ModuleScope)
	if err := analyzed.Refs.Problems.Err(); err != nil {
		return cty.UnknownVal(want), err
	}
	return s.Eval(analyzed, want)
}

// evalIn evaluates an expression in a context returned by Context. If there is an error, the value
// is unknown.
func evalIn(ctx *hcl.EvalContext, expr hcl.Expression, want cty.Type) (cty.Value, error) {
	v, diags := expr.Value(ctx)
	err := tfdiags.FromHCL(redact(explain(diags), ctx)).Err()
	if !isChecked(expr) && !checkSize(v) {
		return cty.UnknownVal(want), tfdiags.Join(err, tooLarge(expr.Range()))
	}
	if err != nil && want != cty.DynamicPseudoType {
		// Keep the marks, so that errors about them are reported too.
		return cty.UnknownVal(want).WithSameMarks(v), err
	}
	if want == cty.DynamicPseudoType || v.Type().Equals(want) {
		return v, err
	}
	converted, err := coerce.Convert(v, want)
	if err != nil {
		rng := expr.Range()
		return cty.UnknownVal(want), tfdiags.Diagnostic{
			Severity: tfdiags.Error, Summary: "Incorrect value type",
			Detail:  "Invalid expression value: " + tfdiags.FormatError(err) + ".",
			Subject: &rng, Expression: expr, EvalContext: ctx,
		}
	}
	return converted, nil
}

// Problem returns an error about the value of an expression. It includes the values that the
// expression refers to. v may be cty.NilVal.
func (s *Scope) Problem(expr *Expr, summary, detail string, v cty.Value) tfdiags.Diagnostic {
	ctx, _ := s.Context(expr.Refs)
	rng := expr.Range()
	d := tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: summary, Detail: detail, Subject: &rng,
		Expression: expr.Expression, EvalContext: ctx}
	switch {
	case v != cty.NilVal && marks.Has(v, marks.Sensitive):
		d.Extra = tfdiags.CausedBySensitive{}
	case v != cty.NilVal && !v.IsWhollyKnown():
		d.Extra = tfdiags.CausedByUnknown{}
	}
	return d
}

// EvalBody decodes an analyzed body to a value of its schema's implied type.
func (s *Scope) EvalBody(body *Body) (cty.Value, error) {
	ctx, err := s.Context(body.Refs)
	if err != nil {
		return cty.UnknownVal(body.Schema.ImpliedType()), err
	}
	return evalBodyIn(ctx, body)
}

// Expanded returns the body without references that are never evaluated. These are references in
// the content of dynamic blocks that generate no blocks. Only those for which unsure returns true
// are removed.
func (s *Scope) Expanded(body *Body, unsure func(*addrs.Reference) bool) (*Body, error) {
	certain := body.without(unsure)
	ctx, err := s.Context(certain.Refs)
	if err != nil {
		return certain, err
	}
	needed := map[hcl.Pos]bool{}
	for _, tr := range body.Schema.ExpandedVariables(body.Body, ctx) {
		needed[tr.SourceRange().Start] = true
	}
	return body.without(func(ref *addrs.Reference) bool { return unsure(ref) && !needed[ref.Range.Start] }), nil
}

// evalBodyIn decodes a body in a context returned by Context.
func evalBodyIn(ctx *hcl.EvalContext, body *Body) (cty.Value, error) {
	v, diags := body.Schema.Decode(body.prepare(), ctx)
	return v, tfdiags.FromHCL(redact(explain(body.Schema.Suggestions(body.Body, body.Meta, ctx, diags)), ctx)).Err()
}
