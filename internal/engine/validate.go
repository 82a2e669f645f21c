package engine

import (
	"cmp"
	"context"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans/objchange"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Validate checks a configuration without knowing the values of variables and resources. It checks
// references, types and schemas, and asks providers to validate their parts of the configuration.
func Validate(ctx context.Context, cfg *configs.Config, env *Env) error {
	defer env.Timings.Phase("validate")()
	w, err := newWalk(ctx, newOperation(phase.Validate, cfg, states.New(), env), nil)
	if err != nil {
		return err
	}
	err = w.run(ctx)
	if err == nil && w.op.comparesBlocks() {
		env.Unchanged.Record(func(*reads.Resource) bool { return true })
	}
	return err
}

// validate checks a resource block once for each module instance, with unknown values of count and
// each.
func (v resourceVisit) validate(ctx context.Context) error {
	w, r := v.w, v.r
	var errs tfdiags.Diagnostics
	errs = errs.AppendError(v.resolveImports(ctx)).AppendError(r.SelfReferences())
	for _, in := range w.modules.of(r.Module) {
		x := newExpansion(*singleInstance)
		in.resources[r.Slot] = x
		if w.leavesOut(r) {
			x.objs[0] = markStored(r.Schema.Block, r.Schema.Block.UnknownValue(), nil)
			v.setValidated(x)
			continue
		}
		errs = errs.AppendError(v.validateRepetition(ctx, in))
		errs = errs.AppendError(w.eval.refErrors(r.Module, r.Exprs.DependsOn))
		p := validation{&instancePlan{x: x, instance: instance{
			w: w, r: r, addr: r.Addr.Resource.InInstance(in.addr).Instance(addrs.NoKey), in: in,
			c: w.eval.newContext(ctx, in, unknownRepetition(r.Exprs.Repetition)),
		}}}
		self, err := p.validate(ctx)
		errs = errs.AppendError(err)
		x.objs[0] = self
		v.setValidated(x)
		errs = errs.AppendError(p.validateConditions(self)) // check the conditions even if the body is invalid
		errs = errs.AppendError(p.validateProvisioners(self, len(errs) > 0))
		errs = errs.AppendError(p.validateTriggers(ctx, self))
		if r.Exprs.PreventDestroy != nil && len(errs) == 0 {
			errs = errs.AppendError(p.checkPreventDestroy(ctx, false))
		}
		if len(errs) == 0 {
			errs = errs.AppendError(v.validateOrder(ctx, in))
		}
	}
	return errs.Err()
}

// setValidated sets the value of a resource from that of its instance.
func (v resourceVisit) setValidated(x *expansion) {
	if rep := v.r.Exprs.Repetition; rep.Repeats() || rep.Enabled != nil {
		x.mode = repeatUnknown
	}
	x.value = v.w.eval.values(v.r).whole(x)
}

// validateRepetition checks count, for_each and enabled. It doesn't report a for_each that can't be
// evaluated yet, or errors in "enabled"; the plan reports those.
func (v resourceVisit) validateRepetition(ctx context.Context, in *moduleInstance) error {
	w, r := v.w, v.r
	c := w.eval.newContext(ctx, in, repetition{})
	rep := r.Exprs.Repetition
	for _, refs := range rep.Refs() {
		if err := w.eval.refErrors(r.Module, refs); err != nil {
			if rep.Enabled != nil {
				return nil
			}
			return err
		}
	}
	if e := rep.ForEach; e != nil {
		if _, err := c.withoutDeprecations().eval(e, cty.DynamicPseudoType); err != nil {
			return nil
		}
	}
	_, err := c.expand(rep, r.Addr.String())
	return err
}

// refErrors returns the errors that were found in a set of references when the graph was built.
func (e *evaluator) refErrors(m *reads.Module, refs *lang.Refs) error {
	return e.graph.RefErrors[graph.EvalUnit{Module: m, Refs: refs}].Err()
}

// validation checks a resource block by the plan of one instance whose key is unknown.
type validation struct{ *instancePlan }

// validate evaluates and validates the block. It returns the value of the resource instance for
// references to it.
func (p validation) validate(ctx context.Context) (cty.Value, error) {
	r, schema := p.r, p.r.Schema.Block
	unknown := markStored(schema, schema.UnknownValue(), nil)
	marked, err := p.c.resourceBody(r)
	if err != nil {
		return unknown, err
	}
	var errs tfdiags.Diagnostics
	if r.Addr.Resource.Mode != addrs.Ephemeral {
		_, _, err := p.splitMarks(marked)
		errs = errs.AppendError(err)
	}
	config := unmark(marked)
	if r.ProviderKey != nil && len(r.Provider.Instances) == 0 {
		// Without provider instances, there can't be resource instances either.
		return unknown, errs.Err()
	}
	prov, err := p.providerAt(ctx, p.anyKey())
	if err != nil {
		return unknown, errs.AppendError(err).Err()
	}
	for _, t := range r.Exprs.Triggers {
		errs = errs.AppendError(p.w.eval.refErrors(r.Module, &t.Refs))
	}
	typ := r.Addr.Resource.Type
	var answer tfdiags.Diagnostics
	switch r.Addr.Resource.Mode {
	case addrs.Data:
		answer = prov.ValidateDataSource(ctx, typ, config)
	case addrs.Ephemeral:
		answer = prov.ValidateEphemeral(ctx, typ, config)
		unknown = ephemeralValue(cty.UnknownVal(schema.ImpliedType()))
	default:
		answer = prov.ValidateResource(ctx, typ, config)
		errs = errs.AppendError(p.validateLifecycle())
	}
	return unknown, errs.AppendError(p.report(answer)).Err()
}

// anyKey returns the key of any instance of the provider configuration. The block is validated with
// that instance.
func (p validation) anyKey() addrs.InstanceKey {
	for k := range p.r.Provider.Instances {
		return k
	}
	return addrs.NoKey
}

// validateConditions checks preconditions and postconditions.
func (p validation) validateConditions(self cty.Value) error {
	return tfdiags.Join(p.preconditions(), p.postconditions(self))
}

// validateProvisioners validates provisioners and their connections. It stops at the first error,
// because later provisioners usually have the same error. If failed is set, the block already has
// an error, and only the first provisioner is validated.
func (p validation) validateProvisioners(self cty.Value, failed bool) error {
	for _, prov := range p.r.Exprs.Provisioners {
		if err := p.validateProvisioner(prov, self); err != nil || failed {
			return err
		}
	}
	return nil
}

func (p validation) validateProvisioner(prov *reads.Provisioner, self cty.Value) error {
	var errs tfdiags.Diagnostics
	if prov.Body != nil {
		v, err := p.withSelf(self).evalBody(prov.Body)
		errs = errs.AppendError(err)
		if v.IsKnown() { // missing arguments are null, not unknown
			diags := p.w.op.env.Provisioner(prov.Config.Type).Validate(unmark(v))
			errs = errs.AppendError(diags.WithAddress(p.addr.String()).Report(p.w.out.warn))
		}
	}
	if prov.Connection != nil {
		v, err := p.withSelf(self).evalBody(prov.Connection)
		errs = errs.AppendError(err)
		if v.IsKnown() {
			errs = errs.AppendError(p.checkConnection(prov, unmark(v)))
		}
	}
	return errs.Err()
}

// validateLifecycle checks ignore_changes against the schema.
func (p validation) validateLifecycle() error {
	var errs tfdiags.Diagnostics
	schema := p.r.Schema.Block
	for _, tr := range p.r.Config.Lifecycle.IgnoreChanges {
		if diags := schema.StaticValidateTraversal(tr); diags.HasErrors() {
			errs = errs.AppendHCL(diags)
			continue
		}
		if len(tr) == 0 {
			continue
		}
		name := objchange.RelativeSteps(tr)[0].AsString()
		if attr := schema.Attributes[name]; attr != nil && attr.Computed && !attr.Optional {
			p.w.out.warn(tfdiags.Warningf("Redundant ignore_changes element",
				"Only the provider sets %s, so there are no changes in the configuration to ignore.",
				name).At(p.r.Config.TypeRange))
		}
	}
	return errs.Err()
}

// checkConnection reports a missing host, and what a built-in provisioner rejects in a connection
// block.
func (p validation) checkConnection(prov *reads.Provisioner, connection cty.Value) error {
	r, body := p.r.Config, prov.Config.ConnectionBody(p.r.Config.Connection)
	var errs tfdiags.Diagnostics
	if connection.GetAttr("host").IsNull() {
		block := cmp.Or(r.Connection, prov.Config.Connection) // that of the resource is shared by its provisioners
		errs = errs.Append(tfdiags.Errorf("Missing required argument",
			"The argument \"host\" is required, but no definition was found.").At(block.Range))
	}
	checker, ok := p.w.op.env.Provisioner(prov.Config.Type).(interface {
		CheckConnection(connection cty.Value) tfdiags.Diagnostics
	})
	if ok {
		errs = append(errs, checker.CheckConnection(connection).InConfigBody(body, p.addr.String())...)
	}
	return errs.Err()
}
