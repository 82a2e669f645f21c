package engine

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/marks"
	"tofu/internal/providers"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// evalContext is the context in which expressions are evaluated: a module instance and, within a
// repeated block, one instance of the block. It is used for a single evaluation, or for all
// evaluations of one instance.
type evalContext struct {
	// ctx is the context of calls to provider functions. It is stored here, because HCL has no way
	// to pass a context to the functions that it calls.
	ctx  context.Context
	e    *evaluator
	in   *moduleInstance
	rep  repetition
	self cty.Value // NilVal if there is no self
	// caller and own are set while an action is evaluated.
	caller cty.Value
	own    *ownObject

	// reads holds the instances that can be read before their resources are complete; see withReads
	// and resourceVisit.findReads.
	reads instanceReads
	// partial is true if resources and aliases have only the instances in reads, however they are
	// referred to; see elements.
	partial bool
	// asList is true if these resources and aliases are lists, instead of objects with keys.
	asList bool
	// only is set while a local that is a module call is evaluated for a reader of single instances.
	only *localElements
	// before is the resource whose instances are being determined; it is nil in most contexts.
	// Until they are determined, the instances that this resource waits for have unknown values.
	before *reads.Resource

	reader

	ofValue            bool   // the expression is that of a value, whose readers have waited for the instances in it
	leftOut            bool   // the value is not part of a partial run, so errors in it are not reported
	blockAddr          string // address of the object that warnings name; may be empty
	ignoreDeprecations bool   // suppresses warnings about deprecated values
}

// reader identifies the visit that evaluates an expression. If the expression reads an instance that
// is not finished, the reader waits.
type reader struct {
	visited *reads.Node // the node whose work the evaluation is part of; nil outside of a walk
	vertex  dag.ID      // the visited vertex: that of the node, or one that plans a single instance
	passive bool        // the expression is evaluated on first use, so it must not wait; see lazy.go
}

// readerAt returns the reader for the visit of a node.
func readerAt(n *reads.Node) reader { return reader{visited: n, vertex: n.ID} }

func (e *evaluator) newContext(ctx context.Context, in *moduleInstance, rep repetition) *evalContext {
	return &evalContext{ctx: ctx, e: e, in: in, rep: rep, reader: e.reader}
}

// inParent returns the context in which the call arguments of a module instance are evaluated.
func (c *evalContext) inParent(in *moduleInstance) *evalContext {
	out := c.e.newContext(c.ctx, in.parent, in.rep)
	out.reader = c.reader
	return out
}

// withSlot returns a copy of the context for an operation that already has a slot for a change by a
// provider. Calls of provider functions then don't acquire another one.
func (c *evalContext) withSlot(of callee) *evalContext {
	out, e := *c, *c.e
	e.hasSlot, e.slotOf = true, of
	out.e = &e
	return &out
}

// withSelf returns a copy of the context with self set to v.
func (c *evalContext) withSelf(v cty.Value) *evalContext {
	out := *c
	out.self = v
	return &out
}

// withoutDeprecations returns a copy of the context that suppresses warnings about deprecated
// values.
func (c *evalContext) withoutDeprecations() *evalContext {
	out := *c
	out.ignoreDeprecations = true
	return &out
}

func (c *evalContext) scope() *lang.Scope {
	return &lang.Scope{Data: c, Functions: c.e.builtins}
}

func (c *evalContext) eval(e *lang.Expr, want cty.Type) (cty.Value, error) {
	if err := c.e.refErrors(c.in.module, &e.Refs); err != nil {
		return cty.UnknownVal(want), err
	}
	v, err := c.scope().Eval(e, want)
	if err != nil && c.leftOut {
		return v, err
	}
	return c.takeDeprecations(v, e.Range(), nil), refHints{c}.explainRefs(&e.Refs, err)
}

func (c *evalContext) evalBody(b *lang.Body) (cty.Value, error) {
	if err := c.e.refErrors(c.in.module, &b.Refs); err != nil {
		return cty.UnknownVal(b.Schema.ImpliedType()), err
	}
	v, err := c.scope().EvalBody(b)
	return c.takeDeprecations(v, hcl.Range{}, b.Body), refHints{c}.explainRefs(&b.Refs, err)
}

// resourceBody evaluates the body of a resource block. Invalid references in the content of dynamic
// blocks are reported only if the blocks have content.
func (c *evalContext) resourceBody(r *reads.Resource) (cty.Value, error) {
	body := r.Exprs.Body
	if len(r.DeferredRefErrors) == 0 {
		return c.evalBody(body)
	}
	err := c.e.refErrors(c.in.module, &body.Refs)
	if err == nil {
		body, err = c.expandBody(r)
	}
	if err != nil {
		return cty.UnknownVal(body.Schema.ImpliedType()), err
	}
	return c.evalBody(body)
}

// expandBody returns the body of a resource block with its dynamic blocks expanded. References in
// dynamic blocks without content are removed; errors in the remaining references are returned.
func (c *evalContext) expandBody(r *reads.Resource) (*lang.Body, error) {
	body, err := c.scope().Expanded(r.Exprs.Body,
		func(ref *addrs.Reference) bool { return r.DeferredRefErrors[ref] != nil })
	var objects, values tfdiags.Diagnostics
	for _, ref := range body.Refs.Objects {
		if graph.IsValueRef(ref.Subject) {
			values = values.Append(r.DeferredRefErrors[ref]...)
		} else {
			objects = objects.Append(r.DeferredRefErrors[ref]...)
		}
	}
	if len(objects) == 0 {
		objects = values
	}
	return body, tfdiags.Join(err, objects.Err())
}

// Value implements lang.Data.
func (c *evalContext) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	switch s := subject.(type) {
	case addrs.InputVariable:
		return c.namedValue(c.in.module.Variables[s.Name], subject, rng)
	case addrs.LocalValue:
		return c.namedValue(c.in.module.Locals[s.Name], subject, rng)
	case addrs.OutputValue:
		return c.namedValue(c.in.module.Outputs[s.Name], subject, rng)
	case addrs.Resource:
		r := c.in.module.Resources[s]
		if r == nil {
			return cty.DynamicVal, c.missing(subject, rng)
		}
		if c.before.WaitsFor(r.Node) {
			return cty.DynamicVal, nil
		}
		if c.own != nil && c.own.r == r {
			v, err := c.own.read(c, nil)
			for _, d := range tfdiags.FromError(err) {
				err = d.At(rng)
			}
			return v, err
		}
		if c.partial {
			if v, ok := c.Instances(s, nil); ok {
				return v, nil
			}
		}
		if err := c.e.unfinished.waitWhole(c, s.InInstance(c.in.addr)); err != nil {
			return cty.DynamicVal, tfdiags.FromError(err)[0].At(rng)
		}
		x, err := c.e.expansionIn(r, c.in)
		if err == nil && c.in.decided != nil {
			err = c.e.values(r).complete(c.in)
		}
		if err == nil && x != nil && x.value != cty.NilVal {
			return x.value, nil
		}
		return cty.DynamicVal, err
	case addrs.CountAttr:
		return c.local(c.rep.countIndex, subject, rng)
	case addrs.ForEachAttr:
		if s.Name == "key" {
			return c.local(c.rep.eachKey, subject, rng)
		}
		return c.local(c.rep.eachValue, subject, rng)
	case addrs.Self:
		return c.local(c.self, subject, rng)
	case addrs.Caller:
		return c.local(c.caller, subject, rng)
	case addrs.PathAttr:
		if path := c.path(s.Name); path != "" {
			return cty.StringVal(path), nil
		}
	case addrs.TerraformAttr:
		switch s.Name {
		case "workspace":
			return cty.StringVal(c.e.op.env.Workspace), nil
		case "applying":
			return cty.BoolVal(c.e.op.Phase.Applies()).Mark(marks.Ephemeral), nil
		}
	}
	return cty.DynamicVal, c.missing(subject, rng)
}

// missing returns the error for a reference to something that doesn't exist. In a configuration, the
// construction of the graph has already reported it.
func (c *evalContext) missing(subject addrs.Referenceable, rng hcl.Range) error {
	var errs tfdiags.Diagnostics
	for _, d := range tfdiags.FromError(c.in.module.Undeclared(&addrs.Reference{Subject: subject}, reads.BlockScope{})) {
		errs = errs.Append(d.At(rng))
	}
	return errs.Err()
}

func (c *evalContext) local(v cty.Value, subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	if v == cty.NilVal {
		return cty.DynamicVal, c.missing(subject, rng)
	}
	return v, nil
}

func (c *evalContext) namedValue(v *reads.Value, subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	if v == nil {
		return cty.DynamicVal, c.missing(subject, rng)
	}
	if c.before.WaitsFor(v.Node) {
		return cty.DynamicVal, nil
	}
	if c.only != nil {
		return c.eval(v.Expr, cty.DynamicPseudoType) // the local refers to another local
	}
	if found, ok, err := c.throughLocal(v); ok {
		return found, err
	}
	if v.Alias != nil {
		if found, ok, err := c.elements(v, c.in); ok || err != nil {
			return c.inForm(found), err
		}
	}
	if found, err := c.valueOf(v, c.in); err != nil || found != cty.NilVal {
		return found, err
	}
	return cty.DynamicVal, nil
}

// path returns an attribute of the path object, or "" if there is no such attribute.
func (c *evalContext) path(name string) string {
	env := c.e.op.env
	switch name {
	case "cwd":
		return filepath.ToSlash(cmp.Or(env.WorkDir, "."))
	case "module":
		return filepath.ToSlash(configs.RelativeDir(env.Base, cmp.Or(c.in.module.Config.Module.Dir, ".")))
	case "root":
		return filepath.ToSlash(configs.RelativeDir(env.Base, cmp.Or(env.RootModule, ".")))
	}
	return ""
}

// Module implements lang.Data.
func (c *evalContext) Module(call string, use lang.CallUse) (cty.Value, error) {
	child := c.in.module.Calls[call]
	if child == nil {
		return cty.DynamicVal, c.missing(addrs.ModuleCall{Name: call}, use.Range)
	}
	if child.Repetition.Repeats() && use.Keyless || !child.Repetition.Repeats() && use.Keyed {
		use.Outputs = nil
	}
	switch {
	case c.e.op.Phase.InputsUnknown() && !use.Keyless && !child.Repetition.Repeats():
		return cty.DynamicVal, nil // planning reports a missing instance, as in OpenTofu
	case c.e.op.Phase.InputsUnknown():
		return unknownValue(child, use.Outputs), nil
	}
	if c.before.WaitsFor(child.End) {
		return cty.DynamicVal, nil
	}
	instances, err := c.e.callsIn(child, c.in)
	if err != nil || instances == nil || instances.mode == repeatUnknown {
		return cty.DynamicVal, err
	}
	if instances.resulting != nil {
		instances = instances.resulting
	}
	if c.only != nil && c.only.call.Call == child && (c.e.op.Phase.Applies() || c.only.exist(instances)) {
		use.Outputs, use.Of = c.only.call.Outputs, c.only.refs
		if v, ok, err := c.only.reader.moduleInstances(child, instances, use); ok || err != nil {
			return v, err
		}
	} else if use.Of != nil && child.Repetition.Repeats() {
		if v, ok, err := c.moduleInstances(child, instances, use); ok || err != nil {
			return v, err
		}
	}
	if v, ok, err := c.callElements(child, instances, use); ok || err != nil {
		return v, err
	}
	return c.wholeCall(child, instances, use.Outputs)
}

// unknownValue returns the value of a module call before its outputs are evaluated. The outputs are
// wholly unknown, because even their types and sensitivity may depend on values. Those of a single
// instance that are declared as ephemeral are marked so.
func unknownValue(m *reads.Module, outputs []string) cty.Value {
	attrs := map[string]cty.Value{}
	for _, name := range outputsOf(m, outputs) {
		switch v := m.Outputs[name]; {
		case v == nil:
		case v.Output.Ephemeral.Value:
			attrs[name] = ephemeralValue(cty.DynamicVal)
		default:
			attrs[name] = cty.DynamicVal
		}
	}
	switch one := cty.ObjectVal(attrs); {
	case m.Repetition.Enabled != nil:
		return cty.DynamicVal
	case m.Repetition.Count != nil:
		return cty.UnknownVal(cty.List(one.Type()))
	case m.Repetition.ForEach != nil:
		return cty.UnknownVal(cty.Map(one.Type()))
	default:
		return one
	}
}

// wholeCall returns the value of the module call with the given outputs, or with all outputs if the
// list is nil. It builds the value once for each set of outputs, except before a walk.
func (c *evalContext) wholeCall(m *reads.Module, ci *callInstances, outputs []string) (cty.Value, error) {
	key := "*"
	if outputs != nil {
		key = strings.Join(outputs, ",")
	}
	ci.mu.Lock()
	v, known := ci.built[key]
	ci.mu.Unlock()
	if known {
		return v, nil
	}
	v, err := ci.build(m, outputsOf(m, outputs), c.valueOf)
	if err != nil || c.e.early != nil {
		return v, err
	}
	ci.mu.Lock()
	defer ci.mu.Unlock()
	if ci.built == nil {
		ci.built = map[string]cty.Value{}
	}
	ci.built[key] = v
	return v, nil
}

// outputsOf returns names. If names is nil, it returns the sorted names of all outputs of the
// module instead.
func outputsOf(m *reads.Module, names []string) []string {
	if names == nil {
		return slices.Sorted(maps.Keys(m.Outputs))
	}
	return names
}

// valueFunc returns the result of a value in one module instance, or NilVal if it has none.
type valueFunc func(*reads.Value, *moduleInstance) (cty.Value, error)

func (ci *callInstances) build(child *reads.Module, outputs []string, valueOf valueFunc) (cty.Value, error) {
	objs := make([]cty.Value, len(ci.of))
	for i, inst := range ci.of {
		var err error
		objs[i], err = inst.outputs(child, outputs, valueOf)
		if err != nil {
			return cty.DynamicVal, err
		}
	}
	return ci.whole(objs, cty.NullVal(cty.DynamicPseudoType)), nil
}

// outputs returns an object with the named outputs of a module instance. An output without a value
// is unknown.
func (in *moduleInstance) outputs(m *reads.Module, names []string, valueOf valueFunc) (cty.Value, error) {
	attrs := make(map[string]cty.Value, len(names))
	for _, name := range names {
		v := m.Outputs[name]
		if v == nil {
			continue
		}
		attrs[name] = cty.DynamicVal
		found, err := valueOf(v, in)
		if err != nil {
			return cty.DynamicVal, err
		}
		if found != cty.NilVal {
			attrs[name] = found
		}
	}
	return cty.ObjectVal(attrs), nil
}

// functionProvider returns the provider of a function, or nil if the module has no such provider.
func (e *evaluator) functionProvider(ctx context.Context, use graph.FunctionUse) (*reads.Provider, error) {
	if known, ok := e.graph.Functions[use]; ok || e.startForFunction == nil {
		return known.Provider, nil
	}
	if p := e.started[use]; p != nil {
		return p, nil
	}
	return e.startForFunction(ctx, use)
}

// Function implements lang.Data.
func (c *evalContext) Function(ref addrs.ProviderFunction, rng hcl.Range) (function.Function, error) {
	e, use := c.e, graph.FunctionUse{Module: c.in.module, Name: ref}
	p, err := e.functionProvider(c.ctx, use)
	if err != nil {
		return function.Function{}, err
	}
	switch {
	case p == nil && e.op.Phase.InputsUnknown():
		return unknownFunction, nil
	case p == nil:
		local := addrs.LocalProviderConfig{LocalName: ref.Name, Alias: ref.Alias}
		return function.Function{}, graph.MissingProvider(local, c.in.module.Path).At(rng)
	}
	instKey, err := e.providerKey(e.graph.Functions[use].ProviderKey, c)
	if err != nil {
		return function.Function{}, err
	}
	provider, _ := e.providers.get(p, instKey)
	listed := p.Schema.Functions
	spec := listed[ref.Function]
	if spec == nil && provider != nil {
		var diags tfdiags.Diagnostics
		listed, diags = provider.Functions(c.ctx)
		err = diags.Report(e.out.warn)
		spec = listed[ref.Function]
	}
	if spec == nil && e.op.Phase.InputsUnknown() {
		return unknownFunction, err // before it is configured, a provider may not list all of its functions
	}
	if spec == nil {
		return function.Function{}, tfdiags.Join(err, tfdiags.Errorf("Function not found in provider",
			"The provider %s has no function %q.%s", p.Addr.Provider.ForDisplay(), ref.Function,
			suggest.DidYouMean(ref.Function, slices.Sorted(maps.Keys(listed)))).At(rng))
	}
	return c.providerFunction(p, provider, ref.Function, spec), err
}

// unknownFunction accepts any arguments and returns an unknown value.
var unknownFunction = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "args", Type: cty.DynamicPseudoType, AllowNull: true,
		AllowUnknown: true, AllowDynamicType: true},
	Type: function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return cty.DynamicVal, nil },
})

// providerFunction returns a function that expressions can call and that calls a provider's
// function. The result of a call is unknown if provider is nil, because the provider isn't running,
// or if an argument that must be known has an unknown part.
func (c *evalContext) providerFunction(
	p *reads.Provider, provider providers.Interface, name string, spec *providers.Function,
) function.Function {
	param := func(p providers.FunctionParam) function.Parameter {
		return function.Parameter{Name: p.Name, Type: p.Type, AllowNull: p.AllowNull,
			AllowUnknown: p.AllowUnknown, AllowDynamicType: true, Description: p.Description}
	}
	out := &function.Spec{Description: spec.Summary, Type: function.StaticReturnType(spec.Return)}
	for _, p := range spec.Params {
		out.Params = append(out.Params, param(p))
	}
	if spec.Variadic != nil {
		v := param(*spec.Variadic)
		out.VarParam = &v
	}
	e, call := c.e, callProvider[cty.Value]
	if c.e.hasSlot {
		call = callWithSlot[cty.Value]
	}
	out.Impl = func(args []cty.Value, ret cty.Type) (cty.Value, error) {
		if provider == nil || !spec.Accepts(args) {
			return cty.UnknownVal(ret), nil
		}
		var err error
		v := call(e.calls, &p.Addr.Provider, "CallFunction", addrs.AbsInstance{}, func() (v cty.Value) {
			v, err = provider.CallFunction(c.ctx, name, args)
			return v
		})
		if fe, ok := asFunctionError(err); ok && fe.Arg >= 0 {
			return cty.NilVal, function.NewArgErrorf(min(fe.Arg, len(args)-1), "%s", fe.Text)
		}
		return v, err
	}
	return funcs.Checked(function.New(out))
}
