package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/marks"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// startProvider starts and configures a provider configuration's instances.
func (w *walk) startProvider(p *providerConfig) tfdiags.Diagnostics {
	keys := []addrs.InstanceKey{addrs.NoKey}
	if p.each != nil {
		keys = slices.SortedFunc(maps.Keys(p.each), addrs.InstanceKey.Compare)
	}
	return w.each(len(keys), func(i int) tfdiags.Diagnostics { return w.startInstance(p, keys[i]) })
}

func (w *walk) startInstance(p *providerConfig, key addrs.InstanceKey) tfdiags.Diagnostics {
	mocked := w.op.env.Mocks != nil && w.op.env.Mocks.Configuration(p.addr)
	if mocked && !w.graph.callsFunctions(p) && w.op.phase != PhaseValidate {
		w.providers.add(p, key, nil)
		return nil
	}
	var err error
	impl := ask(w, &p.addr.Provider, "Start", addrs.AbsInstance{}, func() (impl providers.Interface) {
		impl, err = w.op.env.Provider(w.ctx, p.addr.Provider)
		return impl
	})
	if err != nil {
		return tfdiags.Diagnostics{tfdiags.Errorf("Failed to start provider", "The provider %s could not be started: %s.", p.addr.Provider.ForDisplay(), err)}
	}
	w.providers.add(p, key, impl)
	if w.op.phase == PhaseEval || p.functionsOnly || p.assumed || mocked {
		return nil
	}
	config, diags := w.providerValue(p, key)
	if diags.HasErrors() {
		return diags
	}
	return diags.Append(explainProvider(p, ask(w, &p.addr.Provider, "ConfigureProvider", addrs.AbsInstance{}, func() tfdiags.Diagnostics {
		diags := impl.ValidateProviderConfig(w.ctx, config)
		if diags.HasErrors() || w.op.phase == PhaseValidate {
			return diags
		}
		return diags.Append(impl.Configure(w.ctx, config))
	})))
}

// providerValue evaluates the configuration block. Ephemeral values may go in; marks stay here.
func (w *walk) providerValue(p *providerConfig, key addrs.InstanceKey) (cty.Value, tfdiags.Diagnostics) {
	in := w.instances(p.module)
	if len(in) == 0 {
		// A configuration in a module without instances can only use what is known without one.
		return cty.NullVal(p.body.Schema.ImpliedType()), nil
	}
	rep := repetition{}
	if p.each != nil {
		rep = repetition{eachKey: key.Value(), eachValue: p.each[key]}
	}
	v, diags := w.context(in[0], rep).evalBody(p.body)
	if diags.HasErrors() {
		if p.cfg == nil {
			return v, tfdiags.Diagnostics{tfdiags.Errorf("Invalid provider configuration",
				"The provider %s does not work without configuration. The root module needs a provider block with the arguments that are named below.", p.addr.Provider.ForDisplay())}.Append(diags)
		}
		return v, diags
	}
	v, _ = v.UnmarkDeep()
	return v, diags
}

// explain gives provider diagnostics their places in the configuration block.
func explainProvider(p *providerConfig, diags tfdiags.Diagnostics) tfdiags.Diagnostics {
	if p.cfg == nil {
		return diags.WithAddress(p.addr.String())
	}
	return diags.InConfigBody(p.cfg.Config, p.addr.String())
}

// closeAll closes what an interrupted or failed walk has left open.
func (w *walk) closeAll() {
	for _, r := range w.graph.resources {
		w.report(w.closeEphemeral(r))
	}
	for _, p := range w.graph.providers {
		w.providers.close(p)
	}
}

// stopProviders asks all running providers to end their current calls.
func (w *walk) stopProviders() {
	w.providers.each(func(impl providers.Interface) {
		go func() { _ = impl.Stop(w.ctx) }()
	})
}

// providerInstance is a provider that can be called for one resource instance.
type providerInstance struct {
	providers.Interface
	addr addrs.ProviderInstance
}

func (p *providerInstance) ForDisplay() string { return p.addr.Config.Provider.ForDisplay() }

// resourceProvider gives the provider of a resource instance. c knows the instance's count and each; where the configuration has no
// key expression of the instance's own (an orphan's), stored is used.
func (w *walk) resourceProvider(r *resource, addr addrs.AbsInstance, c *EvalContext, stored addrs.InstanceKey) (*providerInstance, tfdiags.Diagnostics) {
	key, diags := stored, tfdiags.Diagnostics(nil)
	if c != nil {
		if key, diags = w.providerKeyValue(r.providerKey, c); diags.HasErrors() {
			return nil, diags
		}
	}
	p := r.provider
	impl, there := w.providers.get(p, key)
	if there && w.op.env.Mocks != nil && w.op.phase != PhaseValidate {
		if mock := w.op.env.Mocks.Instance(addr, p.addr); mock != nil {
			impl = mock
		}
	}
	if impl == nil {
		d := tfdiags.Errorf("Provider instance not present",
			"To work with %s its provider instance %s%s is required, but it is not there. A provider instance must outlive the resource instances that it manages by at least one apply: put it back, destroy the resource instance, and then remove it.",
			r.addr, p.addr, key)
		return nil, diags.Append(d)
	}
	return &providerInstance{impl, addrs.ProviderInstance{Config: p.addr, Key: key}}, diags
}

// plan asks the provider to plan a change.
func (p *providerInstance) plan(w *walk, addr addrs.AbsInstance, req providers.PlanRequest) providers.PlanResponse {
	return ask(w, p, "PlanResourceChange", addr, func() providers.PlanResponse { return p.PlanResourceChange(w.ctx, req) })
}

// providerKeyValue evaluates the instance key of a provider configuration.
func (w *walk) providerKeyValue(key *keyExpr, c *EvalContext) (addrs.InstanceKey, tfdiags.Diagnostics) {
	if key == nil {
		return addrs.NoKey, nil
	}
	at := c
	if key.call != "" {
		in := c.in
		for in.module.parent != key.module || in.module.call.Name != key.call {
			in = in.parent
		}
		at = w.context(in.parent, in.rep)
	}
	v, diags := at.eval(key.expr, cty.String)
	if diags.HasErrors() {
		return addrs.NoKey, diags
	}
	problem := ""
	switch {
	case marks.Has(v, marks.Sensitive), marks.Has(v, marks.Ephemeral):
		problem = "The key of a provider instance is part of addresses, so it can't be sensitive or ephemeral."
	default:
		v, _ = v.Unmark()
		switch {
		case v.IsNull():
			problem = "The key of the provider instance is null."
		case !v.IsKnown():
			problem = "The provider instance key is known only after apply. It must be known while planning."
		}
	}
	if problem != "" {
		return addrs.NoKey, diags.Append(at.argError("Invalid provider instance key", problem, key.expr, v))
	}
	return addrs.StringKey(v.AsString()), diags
}

func asFunctionError(err error) (*providers.FunctionError, bool) {
	var fe *providers.FunctionError
	return fe, errors.As(err, &fe)
}

// providerBug words a provider's misbehaviour: every such message names the provider and asks to tell its makers.
func providerBug(summary string, p addrs.Provider, format string, args ...any) tfdiags.Diagnostic {
	return tfdiags.Errorf(summary, "The provider %s %s\n\n%s", p, fmt.Sprintf(format, args...), providers.BugNotice)
}
