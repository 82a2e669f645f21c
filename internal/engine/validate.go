package engine

import (
	"context"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configs/configschema"
	"tofu/internal/lang"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Validate checks a configuration as far as that is possible without values: references, types, schemas, and what providers say
// of configurations that may be partly unknown.
func Validate(ctx context.Context, cfg *configs.Config, env *Env) tfdiags.Diagnostics {
	defer env.Timings.Phase("validate")()
	b := &build{ctx: ctx, phase: phaseValidate, env: env, cfg: cfg, state: states.New(), mode: plans.Normal}
	w, diags := b.newWalk(nil)
	if w == nil {
		return diags
	}
	return diags.Append(w.run())
}

// validateResource checks a resource block once per module instance, with unknown repetition.
func (w *walk) validateResource(r *resource) tfdiags.Diagnostics {
	diags := w.resolveImports(r)
	for _, in := range r.module.instances {
		x := &expansion{mode: repeatSingle, keys: []addrs.InstanceKey{addrs.NoKey}, known: singleKnown, objs: make([]cty.Value, 1)}
		in.resources[r.slot] = x
		diags = diags.Append(w.validateRepetition(r, in))
		diags = diags.Append(w.refusals(r.module, &r.exprs.dependsOn))
		p := &instancePlan{w: w, r: r, c: w.context(in, unknownRepetition(r.exprs.rep)), x: x,
			addr: r.addr.Resource.InInstance(in.addr).Instance(addrs.NoKey)}
		v, more := p.validate()
		diags = diags.Append(more)
		x.objs[0] = v
		if r.exprs.rep.repeats() || r.exprs.rep.enabled != nil {
			x.mode = repeatUnknown
		}
		w.settle(r, x)
		diags = diags.Append(p.validateConditions(v)) // what is wrong with the body is no reason to be silent about the rest
		diags = p.validateProvisioners(v, diags)
		if r.exprs.preventDestroy != nil && !diags.HasErrors() {
			diags = diags.Append(w.preventDestroy(r, in, p.addr, false))
		}
	}
	return diags
}

// validateRepetition checks the value that says which instances there are. A for_each that can't be evaluated, and whatever is wrong
// with "enabled", is reported when planning.
func (w *walk) validateRepetition(r *resource, in *moduleInstance) tfdiags.Diagnostics {
	c := w.context(in, repetition{})
	rep := r.exprs.rep
	for _, refs := range rep.refs() {
		if refused := w.refusals(r.module, refs); refused.HasErrors() {
			if rep.enabled != nil {
				return nil
			}
			return refused
		}
	}
	if e := rep.forEach; e != nil {
		if _, diags := c.eval(e, cty.DynamicPseudoType); diags.HasErrors() {
			return nil
		}
	}
	_, diags := c.expand(rep, r.addr.String())
	return diags
}

// refusals gives what is wrong with the references of a unit.
func (w *walk) refusals(m *module, refs *lang.Refs) tfdiags.Diagnostics {
	return slices.Clip(w.refused[unit{m, refs}])
}

// validate evaluates and checks the block itself, and gives what references to it see.
func (p *instancePlan) validate() (cty.Value, tfdiags.Diagnostics) {
	r, schema := p.r, p.r.schema.Block
	unknown := unknownObject(schema)
	marked, diags := p.c.resourceBody(r)
	if diags.HasErrors() {
		return unknown, diags
	}
	if r.addr.Resource.Mode != addrs.Ephemeral {
		_, _, more := p.splitMarks(marked)
		diags = diags.Append(more)
	}
	config := unmark(marked)
	if r.providerKey != nil && len(r.provider.each) == 0 {
		return unknown, diags // no instance of its provider, so none of its own either
	}
	prov, more := p.w.resourceProvider(r, p.addr, nil, p.anyKey())
	if more.HasErrors() {
		return unknown, diags.Append(more)
	}
	for _, t := range r.exprs.triggers {
		diags = diags.Append(p.w.refusals(r.module, &t.Refs))
	}
	ctx, typ := p.w.ctx, r.addr.Resource.Type
	switch r.addr.Resource.Mode {
	case addrs.Data:
		more = prov.ValidateDataSource(ctx, typ, config)
	case addrs.Ephemeral:
		more = prov.ValidateEphemeral(ctx, typ, config)
		unknown = ephemeralValue(cty.UnknownVal(schema.ImpliedType()))
	default:
		more = prov.ValidateResource(ctx, typ, config)
		diags = diags.Append(r.validateLifecycle())
	}
	return unknown, diags.Append(p.explain(more))
}

// unknownObject is an object of which nothing is known but what is sensitive in it.
func unknownObject(schema *configschema.Block) cty.Value {
	attrs := map[string]cty.Value{}
	for name, ty := range schema.ImpliedType().AttributeTypes() {
		attrs[name] = cty.UnknownVal(ty)
	}
	return markStored(schema, cty.ObjectVal(attrs), nil)
}

// anyKey gives an instance of the provider configuration to validate with.
func (p *instancePlan) anyKey() addrs.InstanceKey {
	for k := range p.r.provider.each {
		return k
	}
	return addrs.NoKey
}

// validateConditions checks preconditions and postconditions.
func (p *instancePlan) validateConditions(self cty.Value) tfdiags.Diagnostics {
	diags := p.w.evalRules(p.c, p.r.exprs.pre, p.rules("Resource precondition failed"))
	return diags.Append(p.postconditions(self))
}

// validateProvisioners checks provisioners with their connections, up to the first after which the block has errors. So one is checked
// even in a block that has errors already; the others would most often repeat what is wrong with the first.
func (p *instancePlan) validateProvisioners(self cty.Value, diags tfdiags.Diagnostics) tfdiags.Diagnostics {
	for _, prov := range p.r.exprs.provisioners {
		diags = diags.Append(p.validateProvisioner(prov, self))
		if diags.HasErrors() {
			break
		}
	}
	return diags
}

func (p *instancePlan) validateProvisioner(prov *provisionerExprs, self cty.Value) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	if prov.body != nil {
		v, more := p.withSelf(self).evalBody(prov.body)
		diags = diags.Append(more)
		if v.IsKnown() { // what is missing in it is null
			diags = diags.Append(p.w.env.Provisioner(prov.cfg.Type).Validate(unmark(v)).WithAddress(p.addr.String()))
		}
	}
	if prov.connection != nil {
		v, more := p.withSelf(self).evalBody(prov.connection)
		diags = diags.Append(more)
		if v.IsKnown() {
			diags = diags.Append(prov.checkConnection(p.r.cfg, unmark(v)))
		}
	}
	return diags
}

// validateLifecycle holds ignore_changes against the schema.
func (r *resource) validateLifecycle() tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	for _, tr := range r.cfg.IgnoreChanges {
		more := tfdiags.Diagnostics{}.Append(r.schema.Block.StaticValidateTraversal(tr))
		diags = diags.Append(more)
		if more.HasErrors() || len(tr) == 0 {
			continue
		}
		attr := r.schema.Block.Attributes[relativeSteps(tr)[0].AsString()]
		if attr != nil && attr.Computed && !attr.Optional {
			diags = diags.Append(tfdiags.Warningf("Redundant ignore_changes element",
				"The provider alone decides about %s, so there are no changes of the configuration to ignore.",
				relativeSteps(tr)[0].AsString()).At(r.cfg.TypeRange))
		}
	}
	return diags
}

// Eval makes the scope of the root module's expressions over a state: for the console and for assertions of tests.
func Eval(ctx context.Context, cfg *configs.Config, st *states.State, env *Env, vars map[string]Variable) (*lang.Scope, tfdiags.Diagnostics) {
	w, diags := evaluate(ctx, cfg, st, env, vars)
	if w == nil {
		return nil, diags
	}
	return w.context(w.root.instances[0], repetition{}).scope(), diags
}

// WithOutputs gives a state, which was changed otherwise than by an apply, with the root outputs as they are then. Those that aren't
// known or can't be evaluated stay as they were: the next plan tells of them.
func WithOutputs(ctx context.Context, cfg *configs.Config, st *states.State, env *Env, vars map[string]Variable) *states.State {
	w, _ := evaluate(ctx, cfg, st, env, vars)
	if w == nil {
		return st
	}
	for _, v := range w.root.outputs {
		val := w.root.instances[0].values[v.slot]
		if val == cty.NilVal {
			continue
		}
		if bare, _ := val.UnmarkDeep(); bare.IsWhollyKnown() {
			w.storeOutput(v.output, val)
		}
	}
	return w.state
}

// evaluate evaluates everything over a state. There is no walk when not even the root module could be.
func evaluate(ctx context.Context, cfg *configs.Config, st *states.State, env *Env, vars map[string]Variable) (*walk, tfdiags.Diagnostics) {
	if st == nil {
		st = states.New()
	}
	b := &build{ctx: ctx, phase: phaseEval, env: env, cfg: cfg, state: st, mode: plans.Normal, variables: vars}
	w, diags := b.newWalk(st)
	if w == nil {
		return nil, diags
	}
	diags = diags.Append(w.run())
	if len(w.root.instances) == 0 {
		return nil, diags
	}
	return w, diags
}

// evalResource gives a resource the value that the state says.
func (w *walk) evalResource(r *resource) tfdiags.Diagnostics {
	if r.cfg == nil {
		return nil
	}
	var diags tfdiags.Diagnostics
	for _, in := range r.module.instances {
		x, more := w.expandResource(r, in)
		if more.HasErrors() {
			diags = diags.Append(more)
			continue
		}
		in.resources[r.slot] = x
		if r.addr.Resource.Mode == addrs.Ephemeral {
			for i := range x.objs {
				x.objs[i] = cty.UnknownVal(r.schema.Block.ImpliedType()).Mark(marks.Ephemeral)
			}
		}
		diags = diags.Append(w.fillFromState(r, in, x))
		if x.mode != repeatSingle && len(x.objs) > 0 && !slices.ContainsFunc(x.objs, func(v cty.Value) bool { return v != cty.NilVal }) {
			x.mode = repeatUnknown // nothing of it is there yet
		}
		w.settle(r, x)
	}
	return diags
}

// fillFromState puts the state's objects where no step of this walk has put a newer one.
func (w *walk) fillFromState(r *resource, in *moduleInstance, x *expansion) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	abs := r.addr.Resource.InInstance(in.addr)
	w.mu.Lock()
	stored := w.state.Resource(abs)
	objs := make([]*states.Object, len(x.keys))
	if stored != nil {
		for i, key := range x.keys {
			if inst := stored.Instances[key]; inst != nil {
				objs[i] = inst.Current
			}
		}
	}
	w.mu.Unlock()
	for i, obj := range objs {
		if obj == nil || x.objs[i] != cty.NilVal {
			continue
		}
		diags = diags.Append(x.fill(i, r, abs.Instance(x.keys[i]), obj))
	}
	return diags
}

// fill puts a stored object into its place.
func (x *expansion) fill(i int, r *resource, addr addrs.AbsInstance, obj *states.Object) tfdiags.Diagnostics {
	v, diags := r.decode(addr, obj)
	if !diags.HasErrors() {
		x.objs[i] = v
	}
	return diags
}

// decode gives a stored object's value.
func (r *resource) decode(addr addrs.AbsInstance, obj *states.Object) (cty.Value, tfdiags.Diagnostics) {
	v, err := obj.Decode(r.schema.Block.ImpliedType())
	if err != nil {
		return cty.NilVal, tfdiags.Diagnostics{tfdiags.Errorf("Invalid object in the state", "%s can't be read with the provider's current schema: %s.", addr, err)}
	}
	return markStored(r.schema.Block, v, nil), nil
}

// stateValues gives a resource the instances and values that the state says, whatever the configuration says of repetition.
func (w *walk) stateValues(r *resource) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	if r.cfg == nil {
		return nil
	}
	for _, in := range r.module.instances {
		x := &expansion{mode: r.exprs.rep.mode(), keys: r.exprs.rep.storedKeys(w.build.state.Resource(r.addr.Resource.InInstance(in.addr)))}
		x.objs = make([]cty.Value, len(x.keys))
		diags = diags.Append(w.fillFromState(r, in, x))
		w.settle(r, x)
		in.resources[r.slot] = x
	}
	return diags
}

// storedKeys gives the keys of what the state has of a resource, as far as they fit its repetition.
func (r repetitionExprs) storedKeys(stored *states.Resource) []addrs.InstanceKey {
	switch {
	case !r.repeats():
		return []addrs.InstanceKey{addrs.NoKey}
	case stored == nil:
		return nil
	}
	keys := slices.DeleteFunc(stored.SortedKeys(), func(key addrs.InstanceKey) bool { return !r.fits(key) })
	if r.count != nil {
		return upToLargest(keys)
	}
	return keys
}

// fits tells whether a key is of the kind that the repetition gives.
func (r repetitionExprs) fits(key addrs.InstanceKey) bool {
	_, isInt := key.IsInt()
	_, isString := key.IsString()
	return isInt == (r.count != nil) && isString == (r.forEach != nil)
}

// upToLargest gives all keys from 0 to the largest one.
func upToLargest(keys []addrs.InstanceKey) []addrs.InstanceKey {
	n := 0
	for _, k := range keys {
		if i, ok := k.IsInt(); ok {
			n = max(n, i+1)
		}
	}
	out := make([]addrs.InstanceKey, n)
	for i := range out {
		out[i] = addrs.IntKey(i)
	}
	return out
}
