package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/graph"
	"tofu/internal/lang"
	"tofu/internal/plans/objchange"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Validate checks a configuration without values: references, types, schemas, and the parts that
// providers validate, which may be partly unknown.
func Validate(ctx context.Context, cfg *configs.Config, env *Env) tfdiags.Diagnostics {
	defer env.Timings.Phase("validate")()
	w, diags := newWalk(ctx, newOperation(graph.PhaseValidate, cfg, states.New(), env), nil)
	if w == nil {
		return diags
	}
	return diags.Append(w.run()...)
}

// validate checks a resource block once per module instance, with unknown repetition.
func (v resourceVisit) validate() tfdiags.Diagnostics {
	w, r := v.w, v.r
	diags := v.resolveImports().Append(r.SelfReferences()...)
	for _, in := range w.modules.of(r.Module) {
		x := newExpansion(*singleInstance)
		in.resources[r.Slot] = x
		diags = diags.Append(v.validateRepetition(in)...)
		diags = diags.Append(w.eval.refErrors(r.Module, &r.Exprs.DependsOn)...)
		p := &instancePlan{x: x, instance: instance{
			w: w, r: r, addr: r.Addr.Resource.InInstance(in.addr).Instance(addrs.NoKey), in: in,
			c: w.eval.newContext(in, unknownRepetition(r.Exprs.Repetition)),
		}}
		v, more := p.validate()
		diags = diags.Append(more...)
		x.objs[0] = v
		if r.Exprs.Repetition.Repeats() || r.Exprs.Repetition.Enabled != nil {
			x.mode = repeatUnknown
		}
		x.value = w.eval.values(r).whole(x)
		diags = diags.Append(p.validateConditions(v)...) // report these even if the body is invalid
		diags = p.validateProvisioners(v, diags)
		if r.Exprs.PreventDestroy != nil && !diags.HasErrors() {
			diags = diags.Append(p.checkPreventDestroy(false)...)
		}
	}
	return diags
}

// validateRepetition checks the arguments that determine the instances. It leaves a for_each that
// can't be evaluated yet, and errors in "enabled", to the plan.
func (v resourceVisit) validateRepetition(in *moduleInstance) tfdiags.Diagnostics {
	w, r := v.w, v.r
	c := w.eval.newContext(in, repetition{})
	rep := r.Exprs.Repetition
	for _, refs := range rep.Refs() {
		if refused := w.eval.refErrors(r.Module, refs); refused.HasErrors() {
			if rep.Enabled != nil {
				return nil
			}
			return refused
		}
	}
	if e := rep.ForEach; e != nil {
		if _, diags := c.eval(e, cty.DynamicPseudoType); diags.HasErrors() {
			return nil
		}
	}
	_, diags := c.expand(rep, r.Addr.String())
	return diags
}

// refErrors returns the errors in a set of references.
func (e *evaluator) refErrors(m *graph.Module, refs *lang.Refs) tfdiags.Diagnostics {
	return slices.Clip(e.graph.RefErrors[graph.EvalUnit{Module: m, Refs: refs}])
}

// validate evaluates and validates the block, and returns its value for references.
func (p *instancePlan) validate() (cty.Value, tfdiags.Diagnostics) {
	r, schema := p.r, p.r.Schema.Block
	unknown := markStored(schema, schema.UnknownValue(), nil)
	marked, diags := p.c.resourceBody(r)
	if diags.HasErrors() {
		return unknown, diags
	}
	if r.Addr.Resource.Mode != addrs.Ephemeral {
		_, _, more := p.splitMarks(marked)
		diags = diags.Append(more...)
	}
	config := unmark(marked)
	if r.ProviderKey != nil && len(r.Provider.Instances) == 0 {
		return unknown, diags // without provider instances there are no resource instances
	}
	prov, more := p.providerAt(p.anyKey())
	if more.HasErrors() {
		return unknown, diags.Append(more...)
	}
	for _, t := range r.Exprs.Triggers {
		diags = diags.Append(p.w.eval.refErrors(r.Module, &t.Refs)...)
	}
	ctx, typ := p.w.ctx, r.Addr.Resource.Type
	switch r.Addr.Resource.Mode {
	case addrs.Data:
		more = prov.ValidateDataSource(ctx, typ, config)
	case addrs.Ephemeral:
		more = prov.ValidateEphemeral(ctx, typ, config)
		unknown = ephemeralValue(cty.UnknownVal(schema.ImpliedType()))
	default:
		more = prov.ValidateResource(ctx, typ, config)
		diags = diags.Append(validateLifecycle(r)...)
	}
	return unknown, diags.Append(p.explain(more)...)
}

// anyKey returns the key of an instance of the provider configuration to validate with.
func (p *instancePlan) anyKey() addrs.InstanceKey {
	for k := range p.r.Provider.Instances {
		return k
	}
	return addrs.NoKey
}

// validateConditions checks preconditions and postconditions.
func (p *instancePlan) validateConditions(self cty.Value) tfdiags.Diagnostics {
	diags := p.w.eval.evalConditions(p.c, p.r.Exprs.Preconditions, p.conditionSet("Resource precondition failed"))
	return diags.Append(p.postconditions(self)...)
}

// validateProvisioners validates provisioners and their connections, and stops at the first error
// in the block: later provisioners usually repeat it. It validates at least one provisioner.
func (p *instancePlan) validateProvisioners(self cty.Value, diags tfdiags.Diagnostics) tfdiags.Diagnostics {
	for _, prov := range p.r.Exprs.Provisioners {
		diags = diags.Append(p.validateProvisioner(prov, self)...)
		if diags.HasErrors() {
			break
		}
	}
	return diags
}

func (p *instancePlan) validateProvisioner(prov *graph.Provisioner, self cty.Value) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	if prov.Body != nil {
		v, more := p.withSelf(self).evalBody(prov.Body)
		diags = diags.Append(more...)
		if v.IsKnown() { // missing arguments are null
			diags = diags.Append(p.w.op.env.Provisioner(prov.Config.Type).Validate(unmark(v)).WithAddress(
				p.addr.String())...)
		}
	}
	if prov.Connection != nil {
		v, more := p.withSelf(self).evalBody(prov.Connection)
		diags = diags.Append(more...)
		if v.IsKnown() {
			diags = diags.Append(checkConnection(prov, p.r.Config, unmark(v))...)
		}
	}
	return diags
}

// validateLifecycle checks ignore_changes against the schema.
func validateLifecycle(r *graph.Resource) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	for _, tr := range r.Config.IgnoreChanges {
		more := tfdiags.FromHCL(r.Schema.Block.StaticValidateTraversal(tr))
		diags = diags.Append(more...)
		if more.HasErrors() || len(tr) == 0 {
			continue
		}
		attr := r.Schema.Block.Attributes[objchange.RelativeSteps(tr)[0].AsString()]
		if attr != nil && attr.Computed && !attr.Optional {
			diags = diags.Append(tfdiags.Warningf("Redundant ignore_changes element",
				"Only the provider sets %s, so there are no changes in the configuration to ignore.",
				objchange.RelativeSteps(tr)[0].AsString()).At(r.Config.TypeRange))
		}
	}
	return diags
}

// checkConnection reports missing arguments and unsupported types of a connection block.
func checkConnection(p *graph.Provisioner, r *configs.Resource, connection cty.Value) tfdiags.Diagnostics {
	block := p.Config.Connection
	if block == nil {
		block = r.Connection
	}
	var diags tfdiags.Diagnostics
	if connection.GetAttr("host").IsNull() {
		at := block.Range
		if r.Connection != nil { // shared by all provisioners of the resource
			at = r.Connection.Range
		}
		diags = diags.Append(tfdiags.Errorf("Missing required argument",
			"The argument \"host\" is required, but no definition was found.").At(at))
	}
	if typ := connection.GetAttr("type"); typ.IsKnown() && !typ.IsNull() && strings.EqualFold(typ.AsString(), "winrm") {
		rng := block.Range
		if attrs, _ := block.Config.JustAttributes(); attrs["type"] != nil {
			rng = attrs["type"].Expr.Range()
		}
		diags = diags.Append(tfdiags.Errorf("Unsupported connection type",
			"WinRM connections are not supported. Windows includes an SSH server: install it on the target "+
				"and use type = \"ssh\" with target_platform = \"windows\".").At(rng))
	}
	return diags
}
