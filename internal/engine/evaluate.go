package engine

import (
	"context"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/lang/marks"
	"tofu/internal/states"
)

// Eval returns a scope for evaluating expressions of the root module with the values in a state. It
// returns the scope even if there are errors, but nil if not even the root module could be
// evaluated. The scope is for the console and for test assertions; only one expression may be
// evaluated at a time. Providers that are started for their functions keep running until the caller
// ends them through env; their functions are called with ctx.
func Eval(
	ctx context.Context, cfg *configs.Config, st *states.State, env *Env, vars map[string]Variable,
) (*lang.Scope, error) {
	w, err := evaluate(ctx, cfg, st, env, vars)
	if w == nil {
		return nil, err
	}
	w.eval.startForFunction, w.eval.started = w.startForFunction, map[graph.FunctionUse]*reads.Provider{}
	return w.eval.newContext(ctx, w.modules.of(w.graph.Root)[0], repetition{}).scope(), err
}

// WithOutputs evaluates the root outputs again for a state that was not changed by an apply, and
// returns the state with the results. Outputs that are unknown or can't be evaluated keep their
// stored values; the next plan reports them.
func WithOutputs(
	ctx context.Context, cfg *configs.Config, st *states.State, env *Env, vars map[string]Variable,
) *states.State {
	silent := *env
	silent.Warn = nil
	w, _ := evaluate(ctx, cfg, st, &silent, vars)
	if w == nil {
		return st
	}
	defer w.closeAll(ctx)
	for _, v := range w.graph.Root.Outputs {
		val := w.modules.of(w.graph.Root)[0].values[v.Slot]
		if val == cty.NilVal {
			continue
		}
		if bare, _ := val.UnmarkDeep(); bare.IsWhollyKnown() {
			w.out.storeOutput(v.Output, val)
		}
	}
	return w.out.state
}

// evaluate evaluates the whole configuration with the values in a state.
func evaluate(
	ctx context.Context, cfg *configs.Config, st *states.State, env *Env, vars map[string]Variable,
) (*walk, error) {
	if st == nil {
		st = states.New()
	}
	op := newOperation(phase.Eval, cfg, st, env)
	op.variables = vars
	return evaluateAll(ctx, op)
}

// evaluateAll walks an operation of PhaseEval. The walk is nil if not even the root module could be
// evaluated.
func evaluateAll(ctx context.Context, op *operation) (*walk, error) {
	w, err := newWalk(ctx, op, op.Prior)
	if err != nil {
		return nil, err
	}
	err = w.run(ctx)
	if len(w.modules.of(w.graph.Root)) == 0 {
		return nil, err
	}
	return w, err
}

// startForFunction starts a provider for a function that the configuration doesn't call. It returns
// nil if the module has no such provider.
func (w *walk) startForFunction(ctx context.Context, use graph.FunctionUse) (*reads.Provider, error) {
	m, name := use.Module.Config, use.Name.Name
	found, ok := m.ProviderForLocal(addrs.LocalProviderConfig{LocalName: name, Alias: use.Name.Alias})
	if !ok || found.Key != nil || m.Module.RequiredProviders[name] == nil && !found.Config.Provider.IsBuiltin() {
		return nil, nil
	}
	schema, diags := w.op.env.Schema(ctx, found.Config.Provider)
	if err := diags.Report(w.out.warn); err != nil {
		return nil, err
	}
	p := &reads.Provider{Addr: found.Config, Schema: schema, FunctionsOnly: true}
	w.eval.started[use] = p
	return p, providerVisit{w, p}.start(ctx)
}

// evaluatedIn returns the instances of a resource in one module instance, with values from the state.
func (rv resourceValues) evaluatedIn(ctx context.Context, in *moduleInstance) (*expansion, error) {
	r := rv.r
	x, err := rv.expand(ctx, in)
	if err != nil {
		return nil, err
	}
	if r.Addr.Resource.Mode == addrs.Ephemeral {
		for i := range x.objs {
			x.objs[i] = cty.UnknownVal(r.Schema.Block.ImpliedType()).Mark(marks.Ephemeral)
		}
	}
	rv.fillFromPlan(in, x)
	err = rv.fillFromState(in, x)
	exists := func(v cty.Value) bool { return v != cty.NilVal }
	if x.mode != repeatSingle && len(x.objs) > 0 && !slices.ContainsFunc(x.objs, exists) {
		x.mode = repeatUnknown // no instance exists yet, so the value is unknown
	}
	x.value = rv.whole(x)
	return x, err
}
