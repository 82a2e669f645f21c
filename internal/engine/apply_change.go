package engine

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// storeMarks stores an object for which only the set of sensitive paths changes. It doesn't call
// the provider.
func (a *applyStep) storeMarks(prior *objectState, after cty.Value) error {
	obj, err := encodeObject(a.r, after, *prior.obj)
	if err != nil {
		return err
	}
	obj.Dependencies, obj.DependencyInstances = a.r.Recorded.Dependencies, a.dependencyInstances(a.planned)
	what := Object{Addr: a.addr}
	what.IDKey, what.IDValue = identify(after)
	defer a.w.calls.acquire()()
	a.w.out.observe(ApplyStart{Object: what, Action: plans.Update, Provider: a.prov.addr, Builtin: true})
	a.record(obj)
	a.w.out.observe(ApplyDone{Object: what, Action: plans.Update})
	a.x.objs[a.at] = after
	return nil
}

// applyChange applies the change and evaluates the postconditions of the result.
func (a *applyStep) applyChange(
	ctx context.Context, prior *objectState, prop *desired, final *plans.InstanceChange,
) error {
	value, err := a.callApply(ctx, prior, prop, final)
	if obj := a.w.out.current(a.addr); obj != nil && value != cty.NilVal && !value.IsNull() {
		err = tfdiags.Join(err, a.postconditions(a.x.objs[a.at]))
	}
	return err
}

// callApply has the provider apply the change, records the result and runs provisioners. It holds
// one call slot throughout. It returns the new object.
func (a *applyStep) callApply(
	ctx context.Context, prior *objectState, prop *desired, final *plans.InstanceChange,
) (cty.Value, error) {
	w, r := a.w, a.r
	action := plans.Create
	if final.Action == plans.Update {
		action = plans.Update
	}
	what := Object{Addr: a.addr}
	what.IDKey, what.IDValue = identify(prior.value)
	planned := unmark(final.After)
	defer w.calls.acquire()()
	if w.halted() {
		return cty.NilVal, errHalted
	}
	a.start = w.op.env.now()
	if err := w.start(&ApplyStart{Object: what, Action: action, Provider: a.prov.addr, Planned: planned,
		Sensitive: sensitivePaths(final.After), Builtin: a.prov.addr.Config.Provider.IsBuiltin()}); err != nil {
		return cty.NilVal, err
	}
	var old *states.Object
	if a.planned.Action == plans.CreateThenDelete {
		old = a.depose()
	}
	var resp providers.ApplyResponse
	var value cty.Value
	var unfinished *states.Object
	// Record the response before another call can start: the process may be killed at any time.
	err := callWithSlot(w.calls, a.prov, "ApplyResourceChange", a.addr, func() error {
		resp = a.prov.ApplyResourceChange(ctx, providers.ApplyRequest{
			Type: r.Addr.Resource.Type, Prior: unmark(prior.value), Planned: planned, Config: prop.config,
			Private: final.Private,
			Meta:    prop.meta, Identity: final.AfterIdentity,
		})
		err := a.report(resp.Diagnostics)
		var invalid, unstored error
		value, invalid = a.result(prior, planned, resp)
		err = tfdiags.Join(err, invalid)
		unfinished, unstored = a.store(prior, final, action, value, resp, err != nil)
		return tfdiags.Join(err, unstored)
	})
	if unfinished != nil {
		failed := a.provision(ctx, a.x.objs[a.at])
		if failed == nil {
			a.record(unfinished)
		}
		err = tfdiags.Join(err, failed)
	}
	if old != nil && err != nil && w.out.current(a.addr) == nil {
		a.restore(old)
	}
	what.IDKey, what.IDValue = identify(value)
	w.out.observe(ApplyDone{Object: what, Action: action, Failed: err != nil,
		Elapsed: w.op.env.now().Sub(a.start), Abandoned: w.abandoned(ctx, resp)})
	return value, err
}

func sensitivePaths(v cty.Value) []cty.Path {
	if !marks.Any(v) {
		return nil
	}
	_, pvms := v.UnmarkDeepWithPaths()
	out := make([]cty.Path, len(pvms))
	for i, pvm := range pvms {
		out[i] = pvm.Path
	}
	return out
}

// depose makes the current object deposed, so that its replacement can be created first.
func (a *applyStep) depose() *states.Object {
	old := a.w.out.current(a.addr)
	if old == nil {
		return nil
	}
	a.moveObject(old, addrs.NotDeposed, a.planned.ReplaceDeposed)
	return old
}

// restore makes a deposed object current again if its replacement was not created.
func (a *applyStep) restore(old *states.Object) {
	a.moveObject(old, a.planned.ReplaceDeposed, addrs.NotDeposed)
}

func (a *applyStep) moveObject(obj *states.Object, from, to addrs.DeposedKey) {
	a.w.out.setObject(a.addr, to, obj, a.prov.addr)
	a.w.out.setObject(a.addr, from, nil, a.prov.addr)
	a.w.out.observe(ObjectMoved{Addr: a.addr, From: from, To: to, Object: obj, Provider: a.prov.addr})
}

// result returns as much of the new object in the provider's response as can be stored, and the
// errors about invalid parts.
func (a *applyStep) result(prior *objectState, planned cty.Value, resp providers.ApplyResponse) (cty.Value, error) {
	var errs tfdiags.Diagnostics
	ty := a.r.Schema.Block.ImpliedType()
	failed := resp.Diagnostics.HasErrors()
	const bug = "Provider produced invalid object"
	p := a.prov.addr.Config.Provider
	if resp.New == cty.NilVal {
		if failed {
			return prior.value, nil
		}
		return prior.value, providerBug(bug, p, "returned nothing after applying %s.", a.addr)
	}
	for _, err := range resp.New.Type().TestConformance(ty) {
		errs = errs.Append(providerBug(bug, p,
			"returned an object for %s that does not conform to its schema: %s. The state keeps the "+
				"previous object.", a.addr, tfdiags.FormatError(err)))
	}
	if len(errs) > 0 {
		return prior.value, errs.Err()
	}
	value := objchange.NormalizeFromLegacy(a.r.Schema.Block, resp.New)
	if !value.IsWhollyKnown() {
		return cty.UnknownAsNull(value), a.unknownResults(value)
	}
	if failed {
		return value, nil
	}
	if value.IsNull() {
		return value, providerBug("Provider returned invalid result object after apply", p,
			"returned no object after applying %s, but no error either.", a.addr)
	}
	if !resp.LegacyTypes {
		for _, err := range a.incompatible(markLike(planned, a.planned.After), value) {
			errs = errs.Append(providerBug("Provider produced inconsistent result after apply", p,
				"returned a result for %s that differs from its plan: %s.", a.addr, tfdiags.FormatError(err)))
		}
	}
	return value, errs.WithAddress(a.addr.String()).Err()
}

func (a *applyStep) unknownResults(v cty.Value) error {
	var errs tfdiags.Diagnostics
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if !v.IsKnown() {
			errs = errs.Append(providerBug("Provider returned invalid result object after apply",
				a.prov.addr.Config.Provider,
				"returned an unknown value for %s%s after applying it. Null was stored instead.", a.addr,
				tfdiags.FormatPath(path)))
		}
		return v.IsKnown(), nil
	})
	return errs.Err()
}

// store records the object. If it was just created and still has provisioners to run, store records
// it as tainted and returns the object to record once they succeed. Otherwise it returns nil.
func (a *applyStep) store(
	prior *objectState, final *plans.InstanceChange, action plans.Action, value cty.Value,
	resp providers.ApplyResponse, failed bool,
) (*states.Object, error) {
	w, r := a.w, a.r
	// The provider returned an error and no object, so any prior object stays unchanged.
	if value.IsNull() {
		w.out.undeclare(a.addr.Abs())
		return nil, nil
	}
	marked := markStored(r.Schema.Block, markLike(value, final.After), nil)
	like := states.Object{Private: resp.Private, Identity: encodeIdentity(resp.Identity),
		IdentityVersion:     r.Schema.IdentityVersion,
		CreateBeforeDestroy: a.forced || a.planned.Action == plans.CreateThenDelete,
		SkipDestroy:         r.Config.Lifecycle.Destroy.Set && !r.Config.Lifecycle.Destroy.Value,
		Dependencies:        r.Recorded.Dependencies,
		DependencyInstances: a.dependencyInstances(a.planned),
	}
	if prior.exists() {
		like.Status = prior.obj.Status
		if like.Identity == nil {
			like.Identity, like.IdentityVersion = prior.obj.Identity, prior.obj.IdentityVersion
		}
		if failed && resp.New == cty.NilVal {
			return nil, nil
		}
	}
	if like.Identity == nil {
		like.IdentityVersion = 0
	}
	switch {
	case !failed:
		like.Status = states.Ready
	case action == plans.Create:
		like.Status = states.Tainted
	}
	obj, err := encodeObject(r, marked, like)
	if err != nil {
		return nil, fmt.Errorf("storing %s: %w", a.addr, err)
	}
	a.x.objs[a.at] = marked
	if action != plans.Create || failed || len(r.Exprs.Provisioners) == 0 {
		a.record(obj)
		return nil, nil
	}
	// Store it as tainted until its provisioners finish, in case the program is killed.
	a.record(changed(obj, func(o *states.Object) { o.Status = states.Tainted }))
	return obj, nil
}
