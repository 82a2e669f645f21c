package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/pace"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// providerVisit is a walk's visit to a provider configuration.
type providerVisit struct {
	w *walk
	p *reads.Provider
}

// start starts and configures all instances of a provider configuration, unless nothing needs them.
func (v providerVisit) start(ctx context.Context) error {
	w, p := v.w, v.p
	if w.idle[p] {
		return nil
	}
	keys := []addrs.InstanceKey{addrs.NoKey}
	if p.Instances != nil {
		keys = slices.SortedFunc(maps.Keys(p.Instances), addrs.InstanceKey.Compare)
	}
	return w.each(len(keys), func(i int) error { return v.startInstance(ctx, keys[i]) })
}

func (v providerVisit) startInstance(ctx context.Context, key addrs.InstanceKey) error {
	w, p := v.w, v.p
	mocked := w.op.env.Mocks != nil && w.op.env.Mocks.Configuration(p.Addr)
	functions := p.FunctionsOnly || w.graph.CallsFunctions(p)
	if !functions && (mocked && w.op.Phase != phase.Validate || w.op.Phase == phase.Eval) {
		w.providers.add(p, key, nil)
		return nil
	}
	configured := w.op.Phase != phase.Eval && !p.FunctionsOnly && !p.Assumed && !mocked
	config := cty.NilVal
	if configured {
		var err error
		if config, err = v.config(ctx, key); err != nil {
			return err
		}
	}
	var impl providers.Interface
	err := w.callReader(ctx, &p.Addr.Provider, pace.Local, func(ctx context.Context) (err error) {
		impl = callWithSlot(w.calls, &p.Addr.Provider, "Start", addrs.AbsInstance{}, func() (impl providers.Interface) {
			impl, err = w.startProvider(ctx, p, config)
			return impl
		})
		return err
	})
	switch {
	case err == errHalted:
		return err
	case err != nil:
		return tfdiags.Errorf("Failed to start provider", "The provider %s could not be started: %s.",
			p.Addr.Provider.ForDisplay(), err)
	}
	w.providers.add(p, key, impl)
	if !configured {
		return nil
	}
	if w.deferrals.at(p.Node) != nil && !config.IsWhollyKnown() {
		return nil // resources of the provider are deferred too
	}
	var diags tfdiags.Diagnostics
	configure := func(ctx context.Context) error {
		diags = callWithSlot(w.calls, &p.Addr.Provider, "ConfigureProvider", addrs.AbsInstance{}, func() tfdiags.Diagnostics {
			diags := impl.ValidateProviderConfig(ctx, config)
			if diags.HasErrors() || !w.op.Phase.Configures() {
				return diags
			}
			if w.op.defers {
				impl.AllowDeferral()
			}
			return diags.Append(impl.Configure(ctx, config)...)
		})
		return diags.Err()
	}
	if err := w.callReader(ctx, &p.Addr.Provider, pace.Local, configure); err == errHalted {
		return err
	}
	if v.deferProvider(ctx, config, diags.Err()) {
		return nil
	}
	return explainProvider(p, diags).Report(w.out.warn)
}

// startProvider returns a process for a provider configuration. config is its evaluated block, or
// cty.NilVal if the provider will not be configured.
func (w *walk) startProvider(ctx context.Context, p *reads.Provider, config cty.Value) (providers.Interface, error) {
	reuse := w.op.env.Reuse
	if reuse != nil && config != cty.NilVal && w.op.Phase.Configures() && config.IsWhollyKnown() {
		if impl := reuse(p.Addr.Provider, config); impl != nil {
			return impl, nil
		}
	}
	return w.op.env.Provider(ctx, p.Addr.Provider)
}

// config evaluates the configuration block. The result has no marks, but may contain ephemeral and
// sensitive values.
func (v providerVisit) config(ctx context.Context, key addrs.InstanceKey) (cty.Value, error) {
	w, p := v.w, v.p
	in := w.eval.modulesOf(p.Module)
	if kept := w.lastOf(p, key); kept != nil {
		return v.lastConfig(ctx, key, kept)
	}
	if len(in) == 0 {
		// The module has no instances, so there are no values to evaluate the configuration with.
		return cty.NullVal(p.Body.Schema.ImpliedType()), nil
	}
	rep := repetition{}
	if p.Instances != nil {
		rep = repetition{eachKey: key.Value(), eachValue: p.Instances[key]}
	}
	out, err := w.eval.visiting(p.Node).newContext(ctx, in[0], rep).evalBody(p.Body)
	if err != nil && p.Config == nil {
		return out, tfdiags.Join(tfdiags.Errorf("Invalid provider configuration",
			"The provider %s requires configuration. Add a provider block with the arguments named below "+
				"to the root module.", p.Addr.Provider.ForDisplay()), err)
	}
	w.op.configured(addrs.ProviderInstance{Config: p.Addr, Key: key}, out)
	if err == nil {
		w.keepConfig(p, key, out)
	}
	return unmark(out), err
}

// explainProvider sets the source ranges of provider diagnostics from the configuration block.
func explainProvider(p *reads.Provider, diags tfdiags.Diagnostics) tfdiags.Diagnostics {
	if p.Config == nil {
		return diags.WithAddress(p.Addr.String())
	}
	return diags.InConfigBody(p.Config.Config, p.Addr.String())
}

// closeAll closes all providers and ephemeral objects that are still open after an interrupted or
// failed walk.
func (w *walk) closeAll(ctx context.Context) {
	for _, r := range w.graph.Resources {
		w.out.report(w.ephemerals.close(ctx, r))
	}
	for _, p := range w.graph.Providers {
		w.providers.close(p)
	}
}

// stopProviders asks all running providers to end their current calls, but doesn't wait for that.
func (w *walk) stopProviders(ctx context.Context) {
	w.providers.each(func(impl providers.Interface) {
		go func() { _ = impl.Stop(ctx) }()
	})
}

// providerKey evaluates the key that selects an instance of a provider configuration.
func (e *evaluator) providerKey(key *reads.ProviderKey, c *evalContext) (addrs.InstanceKey, error) {
	if key == nil {
		return addrs.NoKey, nil
	}
	at := c
	if key.Call != "" {
		in := c.in
		for in.module.Parent != key.Module || in.module.Call.Name != key.Call {
			in = in.parent
		}
		at = c.inParent(in)
	}
	v, err := at.argument(key.Expr, providerKeyArgument)
	switch {
	case err != nil:
		return addrs.NoKey, err
	case !v.IsKnown():
		return addrs.NoKey, at.unknownArgument(plans.DeferredProvider, providerKeyArgument.summary,
			"The provider instance key is known only after apply. It must be known during the plan.", key.Expr, v,
			"the provider instance key")
	}
	return addrs.StringKey(v.AsString()), nil
}

func asFunctionError(err error) (*providers.FunctionError, bool) {
	fe, ok := errors.AsType[*providers.FunctionError](err)
	return fe, ok
}

// providerBug returns an error about a bug in a provider. Its detail names the provider and asks
// the user to report the bug.
func providerBug(summary string, p addrs.Provider, format string, args ...any) tfdiags.Diagnostic {
	return tfdiags.Errorf(summary, "The provider %s %s\n\n%s", p, fmt.Sprintf(format, args...), providers.BugNotice)
}
