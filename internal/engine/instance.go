package engine

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// instance is a resource instance during a walk, with the provider that manages it. Its fields are
// common to planning an instance, planning an orphan, applying a change and deleting an object.
type instance struct {
	w    *walk
	r    *graph.Resource
	addr addrs.AbsInstance
	in   *moduleInstance // nil if the configuration no longer declares the module instance
	c    *evalContext    // nil if the configuration does not declare the instance
	by   reader          // the visit or job that works on the instance
	prov *providerInstance
}

// newContext returns a context for evaluating an expression that isn't part of a declared instance.
func (t *instance) newContext(ctx context.Context, in *moduleInstance, rep repetition) *evalContext {
	c := t.w.eval.newContext(ctx, in, rep)
	c.reader = t.by
	return c
}

// declaredProvider returns the provider instance that the configuration names for the resource
// instance.
func (t *instance) declaredProvider() (*providerInstance, error) {
	key, err := t.w.eval.providerKey(t.r.ProviderKey, t.c)
	if err != nil {
		return nil, err
	}
	return t.providerAt(key)
}

// providerAt returns the instance of the resource's provider configuration with the given key.
func (t *instance) providerAt(key addrs.InstanceKey) (*providerInstance, error) {
	p := t.r.Provider
	impl, ok := t.w.providers.get(p, key)
	if mocks := t.w.op.env.Mocks; ok && mocks != nil && t.w.op.Phase != graph.PhaseValidate {
		if mock := mocks.Instance(t.addr, p.Addr); mock != nil {
			impl = mock
		}
	}
	if impl == nil {
		return nil, tfdiags.Errorf("Provider instance not present",
			"%s requires the provider instance %s%s, which the configuration does not declare. If it was removed, "+
				"restore it, and remove it only after the resource instance has been destroyed. Otherwise, "+
				"correct the key in the provider argument.", t.addr, p.Addr, key)
	}
	return &providerInstance{impl, addrs.ProviderInstance{Config: p.Addr, Key: key}}, nil
}

// providerInstance is a provider that manages resource instances.
type providerInstance struct {
	providers.Interface
	addr addrs.ProviderInstance
}

func (p *providerInstance) ForDisplay() string { return p.addr.Config.Provider.ForDisplay() }

// planChange asks the provider to plan a change.
func (t *instance) planChange(ctx context.Context, req providers.PlanRequest) providers.PlanResponse {
	return callProvider(t.w.calls, t.prov, "PlanResourceChange", t.addr, func() providers.PlanResponse {
		return t.prov.PlanResourceChange(ctx, req)
	})
}
