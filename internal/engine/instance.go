package engine

import (
	"context"
	"fmt"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/pace"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// instance is a resource instance during a walk, with the provider that manages it. Its fields are
// common to planning an instance, planning an orphan, applying a change and deleting an object.
type instance struct {
	w    *walk
	r    *reads.Resource
	addr addrs.AbsInstance
	in   *moduleInstance // nil if the configuration no longer declares the module instance
	c    *evalContext    // nil if the configuration does not declare the instance
	by   reader          // the visit that works on the instance
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
	if found := t.findProvider(key); found != nil {
		return found, nil
	}
	return nil, tfdiags.Errorf("Provider instance not present",
		"%s requires the provider instance %s%s, which the configuration does not declare. Correct the key in the provider "+
			"argument, or declare %s. To remove both, remove only the resource instance, apply, and then remove the "+
			"provider instance.", t.addr, t.r.Provider.Addr, key, t.providerSource(key))
}

// providerAt returns the instance of the resource's provider configuration with the given key, which
// the state has for an object. If the configuration no longer has it, it is configured as it last was.
func (t *instance) providerAt(ctx context.Context, key addrs.InstanceKey) (*providerInstance, error) {
	if err := t.w.startLast(ctx, t.r.Provider, key); err != nil {
		return nil, err
	}
	if found := t.findProvider(key); found != nil {
		return found, nil
	}
	return nil, tfdiags.Errorf("Provider instance not present",
		"%s was created with the provider instance %s%s, which the configuration no longer declares, and the state doesn't say "+
			"how it was configured, so the object can't be read or destroyed. To destroy it, restore %s, but not the "+
			"resource instance, and apply; then remove the provider instance. To leave the object as it is, remove it "+
			"from the state: tofu state rm '%[1]s'",
		t.addr, t.r.Provider.Addr, key, t.providerSource(key))
}

// findProvider returns the instance of the resource's provider configuration with the given key, or
// nil.
func (t *instance) findProvider(key addrs.InstanceKey) *providerInstance {
	p := t.r.Provider
	impl, ok := t.w.providers.get(p, key)
	if mocks := t.w.op.env.Mocks; ok && mocks != nil && t.w.op.Phase != phase.Validate {
		if mock := mocks.Instance(t.addr, p.Addr); mock != nil {
			impl = mock
		}
	}
	if impl == nil {
		return nil
	}
	return &providerInstance{impl, addrs.ProviderInstance{Config: p.Addr, Key: key}}
}

// providerSource names what declares a provider instance.
func (t *instance) providerSource(key addrs.InstanceKey) string {
	what := "its provider block"
	if cfg := t.r.Provider.Config; cfg != nil {
		what = fmt.Sprintf("the provider block at %s", tfdiags.Place(cfg.Range))
	}
	if key == addrs.NoKey {
		return what + " without for_each"
	}
	return fmt.Sprintf("the key %s in for_each of %s", strings.Trim(key.String(), "[]"), what)
}

// providerInstance is a provider that manages resource instances.
type providerInstance struct {
	providers.Interface
	addr addrs.ProviderInstance
}

func (p *providerInstance) ForDisplay() string { return p.addr.Config.Provider.ForDisplay() }

// planChange asks the provider to plan a change.
func (t *instance) planChange(ctx context.Context, req providers.PlanRequest) providers.PlanResponse {
	var resp providers.PlanResponse
	err := t.w.callReader(ctx, t.prov, pace.Local, func(ctx context.Context) error {
		resp = recall(t, "PlanResourceChange", req, func() providers.PlanResponse {
			return callWithSlot(t.w.calls, t.prov, "PlanResourceChange", t.addr, func() providers.PlanResponse {
				return t.prov.PlanResourceChange(ctx, req)
			})
		})
		return resp.Diagnostics.Err()
	})
	if err != nil && reported(err) == nil {
		return providers.PlanResponse{Diagnostics: tfdiags.FromError(err)}
	}
	return resp
}
