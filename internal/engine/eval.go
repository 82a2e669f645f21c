package engine

import (
	"cmp"
	"context"
	"fmt"
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
	before *graph.Resource

	// callee is the module instance whose argument is being followed; see nextExpr. It is nil in all
	// other contexts.
	callee *moduleInstance
	// key is the instance of a resource whose arguments are being followed; see varyingRef.
	key addrs.InstanceKey

	reader

	ofValue            bool   // the expression is that of a value, whose readers have waited for the instances in it
	leftOut            bool   // the value is not part of a partial run, so errors in it are not reported
	blockAddr          string // address of the object that warnings name; may be empty
	ignoreDeprecations bool   // suppresses warnings about deprecated values
}

// reader identifies the visit that evaluates an expression. If the expression reads an instance that
// is not finished, the reader waits.
type reader struct {
	visited *graph.Node // the node whose work the evaluation is part of; nil outside of a walk
	vertex  dag.ID      // the visited vertex: that of the node, or one that plans a single instance
	passive bool        // the expression is evaluated on first use, so it must not wait; see lazy.go
}

// readerAt returns the reader for the visit of a node.
func readerAt(n *graph.Node) reader { return reader{visited: n, vertex: n.ID} }

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
	return c.takeDeprecations(v, e.Range(), nil), c.explainRefs(&e.Refs, err)
}

func (c *evalContext) evalBody(b *lang.Body) (cty.Value, error) {
	if err := c.e.refErrors(c.in.module, &b.Refs); err != nil {
		return cty.UnknownVal(b.Schema.ImpliedType()), err
	}
	v, err := c.scope().EvalBody(b)
	return c.takeDeprecations(v, hcl.Range{}, b.Body), c.explainRefs(&b.Refs, err)
}

// resourceBody evaluates the body of a resource block. Invalid references in the content of dynamic
// blocks are reported only if the blocks have content.
func (c *evalContext) resourceBody(r *graph.Resource) (cty.Value, error) {
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
func (c *evalContext) expandBody(r *graph.Resource) (*lang.Body, error) {
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

// explainRefs adds hints to errors about references: the instances and outputs that do exist.
func (c *evalContext) explainRefs(refs *lang.Refs, err error) error {
	if err == nil {
		return nil
	}
	return c.offerInstances(refs, c.offerOutputs(refs, err))
}

// offerInstances adds the keys of the existing instances to errors about references to instances
// that don't exist.
func (c *evalContext) offerInstances(refs *lang.Refs, err error) error {
	return tfdiags.MapError(err, func(errs tfdiags.Diagnostics) tfdiags.Diagnostics {
		return errs.Map(func(d *tfdiags.Diagnostic) {
			if d.Summary != "Invalid index" || d.Subject == nil {
				return
			}
			for _, ref := range refs.Objects {
				if c.explainElement(d, refs, ref) {
					return
				}
				if !refs.SelectsInstance(ref) || !d.Subject.Overlaps(refs.IndexRange(ref)) {
					continue
				}
				if what, x := c.instancesOf(ref.Subject); x != nil {
					c.explainMissing(d, refs.Instance(ref), what, x)
				}
				return
			}
		})
	})
}

// explainMissing adds the list of existing instances to the error about a reference to an instance
// that doesn't exist. If the expression was evaluated with only some of the existing instances,
// their values are left out of the error.
func (c *evalContext) explainMissing(
	d *tfdiags.Diagnostic, ref lang.InstanceRef, what fmt.Stringer, x *expandedKeys,
) {
	d.Detail = lang.NoElement // without the keys of a value that may have only some of the instances
	if x.mode == repeatSingle {
		d.Detail = fmt.Sprintf("%s has no count or for_each, so it has no instances to select from. The index "+
			"can only select an attribute, and there is no attribute of that name.", what)
		return
	}
	if x.mode != repeatCount && x.mode != repeatForEach {
		d.Detail += " " + x.describeKeys(what)
		return
	}
	all := make([]cty.Value, len(x.keys))
	for i := range all {
		all[i] = cty.DynamicVal
	}
	full, partial := withAll(d.EvalContext, what.String(), x.whole(all, cty.DynamicVal))
	if !partial {
		if _, declared := x.find(ref.Key); ref.Index == nil && declared && c.e.op.Partial() {
			d.Detail = noObject(what, ref.Key.String())
			return
		}
		d.Detail += " " + x.describeKeys(what)
		return
	}
	d.EvalContext = full
	selected, key := ref.Key, ref.Key.String()
	if ref.Index != nil {
		v, diags := ref.Index.Value(d.EvalContext)
		if !diags.HasErrors() && !v.IsMarked() && v.IsNull() {
			d.Detail = fmt.Sprintf("The key is null, so it selects no instance. If there may be none, write KEY == null "+
				"? null : %s[KEY]. %s", what, x.describeKeys(what))
			return
		}
		if diags.HasErrors() || v.IsMarked() || !v.IsKnown() {
			d.Detail = "The reference is to an instance that doesn't exist. " + x.describeKeys(what)
			return
		}
		selected, _ = addrs.KeyFromValue(v)
		key = keyText(v)
	}
	if _, declared := x.find(selected); declared && c.e.op.Partial() {
		d.Detail = noObject(what, key)
		return
	}
	d.Detail = fmt.Sprintf("%s%s doesn't exist. %s", what, key, x.describeKeys(what))
	if x.mode == repeatCount && strings.HasPrefix(key, "[-") {
		d.Detail += " The first instance has none before it, so it needs a value of its own, as in " +
			"count.index == 0 ? null : " + what.String() + "[count.index - 1]."
	}
}

// keyText returns the value of an index in brackets.
func keyText(v cty.Value) string {
	switch v.Type() {
	case cty.String:
		return addrs.StringKey(v.AsString()).String()
	case cty.Number:
		return "[" + v.AsBigFloat().Text('g', -1) + "]"
	}
	return "[…]"
}

// withAll returns a copy of an evaluation context in which the named resource or module call has
// the value all, which contains all of its instances. It returns false if the context already has
// these instances.
func withAll(ctx *hcl.EvalContext, name string, all cty.Value) (*hcl.EvalContext, bool) {
	if ctx == nil {
		return nil, false
	}
	steps := strings.Split(name, ".")
	if _, here := ctx.Variables[steps[0]]; !here && ctx.Parent() != nil { // within a "for" expression
		outer, ok := withAll(ctx.Parent(), name, all)
		out := outer.NewChild()
		out.Variables, out.Functions = ctx.Variables, ctx.Functions
		return out, ok
	}
	var replace func(v cty.Value, steps []string) (cty.Value, bool)
	replace = func(v cty.Value, steps []string) (cty.Value, bool) {
		if v.IsMarked() || !v.IsKnown() || v.IsNull() {
			return v, false
		}
		if len(steps) == 0 {
			more := all.Type().IsTupleType() || all.LengthInt() > v.LengthInt()
			return all, v.Type().IsObjectType() && more
		}
		if !v.Type().IsObjectType() || !v.Type().HasAttribute(steps[0]) {
			return v, false
		}
		attrs := v.AsValueMap()
		of, ok := replace(attrs[steps[0]], steps[1:])
		attrs[steps[0]] = of
		return cty.ObjectVal(attrs), ok
	}
	root, ok := replace(ctx.Variables[steps[0]], steps[1:])
	if !ok {
		return ctx, false
	}
	out := *ctx
	out.Variables = maps.Clone(ctx.Variables)
	out.Variables[steps[0]] = root
	return &out, true
}

// instancesOf returns the resource or module call that a reference names, and its instances. The
// instances are nil until they are determined. It returns nil for all other references.
func (c *evalContext) instancesOf(subject addrs.Referenceable) (fmt.Stringer, *expandedKeys) {
	if r := c.in.module.ResourceOf(subject); r != nil {
		if x := c.e.expansionOf(r, c.in); x != nil {
			return r.Addr.Resource, &x.expandedKeys
		}
		return r.Addr.Resource, nil
	}
	if call, _, ok := lang.ModuleSubject(subject); ok && c.in.module.Calls[call.Name] != nil {
		if x := c.e.callsOf(c.in.module.Calls[call.Name], c.in); x != nil {
			return addrs.ModuleCall{Name: call.Name}, &x.expandedKeys
		}
	}
	return nil, nil
}

// noObject says why an instance that the configuration declares has no value.
func noObject(what fmt.Stringer, key string) string {
	return fmt.Sprintf("%s%s has no object, and this run doesn't create it. Plan and apply without -refresh-only, "+
		"-target and -exclude first.", what, key)
}

const maxDescribed = 10

// describeKeys returns a sentence that names the instances of a resource or a module call, or the
// elements of an alias of one. It names at most maxDescribed.
func (x *expandedKeys) describeKeys(of fmt.Stringer) string {
	noun := "element"
	switch of.(type) {
	case addrs.Resource, addrs.ModuleCall, addrs.AbsResource, addrs.ModuleInstance:
		noun = "instance"
	}
	names := make([]string, 0, maxDescribed)
	for _, key := range x.keys[:min(len(x.keys), maxDescribed)] {
		names = append(names, key.String())
	}
	switch more := len(x.keys) - len(names); {
	case len(names) == 0:
		return fmt.Sprintf("%s has no %ss.", of, noun)
	case len(x.keys) == 1:
		return fmt.Sprintf("%s has only the %s %s.", of, noun, names[0])
	case more > 0:
		return fmt.Sprintf("%s has the %ss %s and %d more.", of, noun, strings.Join(names, ", "), more)
	}
	return fmt.Sprintf("%s has the %ss %s.", of, noun, strings.Join(names, ", "))
}

// offerOutputs adds the names of the existing outputs to errors about references to undeclared
// outputs.
func (c *evalContext) offerOutputs(refs *lang.Refs, err error) error {
	errs := tfdiags.FromError(err)
	for _, ref := range refs.Objects {
		s, ok := ref.Subject.(addrs.ModuleCallOutput)
		if !ok {
			continue
		}
		child := c.in.module.Calls[s.Call.Name]
		if child == nil || child.Outputs[s.Output] != nil {
			continue
		}
		errs = errs.Map(func(d *tfdiags.Diagnostic) {
			if d.Subject != nil && d.Subject.End == ref.Range.End && d.Subject.Filename == ref.Range.Filename {
				d.Detail = fmt.Sprintf("The module has no output named %q.%s", s.Output, suggest.DidYouMean(s.Output,
					slices.Sorted(maps.Keys(child.Outputs))))
			}
		})
	}
	return errs.Err()
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
		if c.before.WaitsFor(r, nil) {
			return cty.DynamicVal, nil
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
			err = c.e.complete(r, c.in)
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
	for _, d := range tfdiags.FromError(c.in.module.Undeclared(subject)) {
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

func (c *evalContext) namedValue(v *graph.Value, subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	if v == nil {
		return cty.DynamicVal, c.missing(subject, rng)
	}
	if c.before.WaitsForLocal(v) {
		return cty.DynamicVal, nil
	}
	if c.only != nil {
		return c.eval(v.Expr, cty.DynamicPseudoType) // the local refers to another local
	}
	if found, ok, err := c.throughLocal(v); ok {
		return found, err
	}
	if v.Alias != nil {
		if c.before.WaitsFor(v.Alias.Of, v) {
			return cty.DynamicVal, nil
		}
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
	if use.Keyless && child.Repetition.Repeats() {
		use.Outputs = nil
	}
	switch {
	case c.e.op.Phase == graph.PhaseValidate && !use.Keyless && !child.Repetition.Repeats():
		return cty.DynamicVal, nil // planning reports a missing instance, as in OpenTofu
	case c.e.op.Phase == graph.PhaseValidate:
		return unknownValue(child, use.Outputs), nil
	}
	if c.before.WaitsForCall(child) {
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
func unknownValue(m *graph.Module, outputs []string) cty.Value {
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
func (c *evalContext) wholeCall(m *graph.Module, ci *callInstances, outputs []string) (cty.Value, error) {
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
func outputsOf(m *graph.Module, names []string) []string {
	if names == nil {
		return slices.Sorted(maps.Keys(m.Outputs))
	}
	return names
}

// valueFunc returns the result of a value in one module instance, or NilVal if it has none.
type valueFunc func(*graph.Value, *moduleInstance) (cty.Value, error)

func (ci *callInstances) build(child *graph.Module, outputs []string, valueOf valueFunc) (cty.Value, error) {
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
func (in *moduleInstance) outputs(m *graph.Module, names []string, valueOf valueFunc) (cty.Value, error) {
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
func (e *evaluator) functionProvider(ctx context.Context, use graph.FunctionUse) (*graph.Provider, error) {
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
	case p == nil && e.op.Phase == graph.PhaseValidate:
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
	if spec == nil && e.op.Phase == graph.PhaseValidate {
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
	p *graph.Provider, provider providers.Interface, name string, spec *providers.Function,
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
