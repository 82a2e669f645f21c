package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang/marks"
	"tofu/internal/pace"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// storeMarks stores an object whose sensitive paths change but whose values don't. It doesn't call
// the provider.
func (a *applyStep) storeMarks(prior *objectState, after cty.Value) error {
	obj, err := encodeObject(a.r, after, *prior.obj)
	if err != nil {
		return err
	}
	obj.Dependencies, obj.DependencyInstances = a.r.Recorded.Dependencies, a.dependencyInstances(a.planned)
	what := Object{Addr: a.addr}
	what.IDKey, what.IDValue = identify(after)
	defer a.w.calls.acquire(a.prov, pace.Local)()
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
	c := &applyCall{applyStep: a, prior: prior, desired: prop, final: final, action: plans.Create}
	if final.Action == plans.Update {
		c.action = plans.Update
	}
	err := c.run(ctx)
	if obj := a.w.out.current(a.addr); obj != nil && c.value != cty.NilVal && !c.value.IsNull() {
		err = tfdiags.Join(err, a.postconditions(a.x.objs[a.at]))
	}
	return err
}

// withActions calls f, which creates or updates the object, and invokes the actions that are triggered before
// and afterwards.
func (a *applyStep) withActions(
	ctx context.Context, prior *objectState, final *plans.InstanceChange, f func() error,
) error {
	before, after := configs.BeforeCreate, configs.AfterCreate
	if final.Action == plans.Update {
		before, after = configs.BeforeUpdate, configs.AfterUpdate
	}
	if _, err := a.invokeActions(ctx, a.planned, before, plans.CallerAt(before, prior.value, final.After)); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	failed, err := a.invokeActions(ctx, a.planned, after, a.x.objs[a.at])
	obj := a.w.out.current(a.addr)
	if obj != nil && a.planned.Taints() && (failed == nil || failed.OnFailure != string(configs.Taint)) {
		a.record(changed(obj, func(o *states.Object) { o.Status = states.Ready }))
	}
	return err
}

// applyCall is a provider's call that creates or updates the object of an applyStep.
type applyCall struct {
	*applyStep
	prior   *objectState
	desired *desired
	final   *plans.InstanceChange
	action  plans.Action // Create or Update

	resp   providers.ApplyResponse
	value  cty.Value // the new object; NilVal before the call
	stored bool      // the response has an object, and it was stored
	// unfinished is the object to store when its provisioners have run; until then, it is stored as
	// tainted. It is nil if there are no provisioners to run.
	unfinished *states.Object
}

// run asks the provider to apply the change, records the result and runs provisioners. It occupies
// one call slot from start to end.
func (c *applyCall) run(ctx context.Context) error {
	w, provider := c.w, c.prov.addr
	what := Object{Addr: c.addr}
	what.IDKey, what.IDValue = identify(c.prior.value)
	defer w.calls.acquire(c.prov, pace.Write)()
	if w.halt.isSet() {
		return errHalted
	}
	start := w.op.env.now()
	err := w.out.start(&ApplyStart{Object: what, Action: c.action, Provider: provider,
		Planned: unmark(c.final.After), Sensitive: sensitivePaths(c.final.After),
		Builtin: provider.Config.Provider.IsBuiltin()})
	if err != nil {
		return err
	}
	var old *states.Object
	if c.planned.Action == plans.CreateThenDelete {
		old = c.depose()
	}
	// Record the response before another call can start: the process may be killed at any time.
	err = callWithSlot(w.calls, c.prov, "ApplyResourceChange", c.addr, func() error { return c.call(ctx) })
	if c.unfinished != nil {
		failed := c.provision(ctx, c.x.objs[c.at])
		if failed == nil && !c.planned.Taints() {
			c.record(c.unfinished)
		}
		err = tfdiags.Join(err, failed)
	}
	restored := old != nil && err != nil && w.out.current(c.addr) == nil
	if restored {
		c.restore(old)
	}
	what.IDKey, what.IDValue = identify(c.value)
	doubt := c.inDoubt()
	w.out.observe(ApplyDone{Object: what, Action: c.action, Failed: err != nil, Err: err,
		Elapsed: w.op.env.now().Sub(start), InDoubt: doubt})
	switch {
	case doubt && c.action == plans.Create:
		return withOutcome(err, "It is not known whether %s was created: the object may exist without being in the "+
			"state. Look for it before you apply again. If it exists, import it (tofu import '%[1]s' ID) or delete it.",
			c.addr)
	case doubt:
		return withOutcome(err, "It is not known whether %s was updated. The next plan reads it.", c.addr)
	case err != nil && c.action == plans.Create && w.op.env.InDoubt != nil:
		if advice := w.op.env.InDoubt(c.addr, restored); advice != "" {
			return withOutcome(err, "%s", advice)
		}
	}
	return err
}

// inDoubt reports whether the provider gave no usable answer. An answer to a creation is usable if
// it has an object that could be stored, or says that the creation failed. Providers answer with
// neither if they don't find what they have just created.
func (c *applyCall) inDoubt() bool {
	refused := c.resp.Diagnostics.HasErrors() && (c.resp.New == cty.NilVal || c.resp.New.IsNull())
	return c.resp.Unanswered || c.action == plans.Create && !c.stored && !refused
}

// withOutcome adds what is known about the outcome of a call to the first error about it.
func withOutcome(err error, format string, args ...any) error {
	added := false
	return tfdiags.MapError(err, func(list tfdiags.Diagnostics) tfdiags.Diagnostics {
		return list.Map(func(d *tfdiags.Diagnostic) {
			if !added && d.Severity == tfdiags.Error {
				added = true
				d.Detail = strings.TrimSpace(d.Detail + "\n\n" + fmt.Sprintf(format, args...))
			}
		})
	})
}

// call calls the provider and stores the result.
func (c *applyCall) call(ctx context.Context) error {
	c.resp = c.prov.ApplyResourceChange(ctx, providers.ApplyRequest{
		Type: c.r.Addr.Resource.Type, Prior: unmark(c.prior.value), Planned: unmark(c.final.After),
		Config: c.desired.config, Private: c.final.Private, Meta: c.desired.meta, Identity: c.final.AfterIdentity,
	})
	err := c.report(c.resp.Diagnostics)
	var invalid error
	c.value, invalid = c.result()
	err = tfdiags.Join(err, invalid)
	return tfdiags.Join(err, c.store(err != nil))
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

// depose makes the current object deposed, so that its replacement can be created first. It returns
// the object, or nil if the state has none.
func (a *applyStep) depose() *states.Object {
	old := a.w.out.current(a.addr)
	if old == nil {
		return nil
	}
	a.moveObject(old, addrs.NotDeposed, a.planned.ReplaceDeposed)
	return old
}

// restore makes a deposed object the current one again, because its replacement was not created.
func (a *applyStep) restore(old *states.Object) {
	a.moveObject(old, a.planned.ReplaceDeposed, addrs.NotDeposed)
}

func (a *applyStep) moveObject(obj *states.Object, from, to addrs.DeposedKey) {
	a.w.out.setObject(a.addr, to, obj, a.prov.addr)
	a.w.out.setObject(a.addr, from, nil, a.prov.addr)
	a.w.out.observe(ObjectMoved{Addr: a.addr, From: from, To: to, Object: obj, Provider: a.prov.addr})
}

// result returns the new object in the provider's response, without the parts that can't be stored,
// and errors about the response. If the response has no object or an invalid one, it returns the prior
// object. A null object is returned as null.
func (c *applyCall) result() (cty.Value, error) {
	prior, resp := c.prior, c.resp
	var errs tfdiags.Diagnostics
	ty := c.r.Schema.Block.ImpliedType()
	failed := resp.Diagnostics.HasErrors()
	const bug = "Provider produced invalid object"
	p := c.prov.addr.Config.Provider
	if resp.New == cty.NilVal {
		if failed {
			return prior.value, nil
		}
		return prior.value, providerBug(bug, p, "returned nothing after applying %s.", c.addr)
	}
	for _, err := range resp.New.Type().TestConformance(ty) {
		errs = errs.Append(providerBug(bug, p,
			"returned an object for %s that does not conform to its schema: %s. The state keeps the "+
				"previous object.", c.addr, tfdiags.FormatError(err)))
	}
	if len(errs) > 0 {
		return prior.value, errs.Err()
	}
	value := objchange.NormalizeFromLegacy(c.r.Schema.Block, resp.New)
	if !value.IsWhollyKnown() {
		return cty.UnknownAsNull(value), c.unknownResults(value)
	}
	if failed {
		return value, nil
	}
	if value.IsNull() {
		return value, providerBug("Provider returned invalid result object after apply", p,
			"returned no object after applying %s, but no error either.", c.addr)
	}
	if !resp.LegacyTypes {
		for _, err := range c.incompatible(markLike(unmark(c.final.After), c.planned.After), value) {
			errs = errs.Append(providerBug("Provider produced inconsistent result after apply", p,
				"returned a result for %s that differs from its plan: %s.", c.addr, tfdiags.FormatError(err)))
		}
	}
	return value, errs.WithAddress(c.addr.String()).Err()
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

// store stores the new object. If the object was just created and has provisioners to run, it is
// stored as tainted. failed reports that the provider call failed.
func (c *applyCall) store(failed bool) error {
	w, r, resp := c.w, c.r, c.resp
	// A null value means that the provider returned an error and no object. Any prior object stays
	// unchanged.
	if c.value.IsNull() {
		w.out.undeclare(c.addr.Abs())
		return nil
	}
	marked := markStored(r.Schema.Block, markLike(c.value, c.final.After), nil)
	like := states.Object{Private: resp.Private, Identity: encodeIdentity(resp.Identity),
		IdentityVersion:     r.Schema.IdentityVersion,
		CreateBeforeDestroy: c.forced || c.planned.Action == plans.CreateThenDelete,
		SkipDestroy:         r.Config.Lifecycle.Destroy.Set && !r.Config.Lifecycle.Destroy.Value,
		Dependencies:        r.Recorded.Dependencies,
		DependencyInstances: c.dependencyInstances(c.planned),
	}
	if c.prior.exists() {
		like.Status = c.prior.obj.Status
		if like.Identity == nil {
			like.Identity, like.IdentityVersion = c.prior.obj.Identity, c.prior.obj.IdentityVersion
		}
		if failed && resp.New == cty.NilVal {
			return nil
		}
	}
	if like.Identity == nil {
		like.IdentityVersion = 0
	}
	switch {
	case !failed:
		like.Status = states.Ready
	case c.action == plans.Create:
		like.Status = states.Tainted
	}
	obj, err := encodeObject(r, marked, like)
	if err != nil {
		return fmt.Errorf("storing %s: %w", c.addr, err)
	}
	c.x.objs[c.at], c.stored = marked, true
	if c.action != plans.Create || failed || len(r.Exprs.Provisioners) == 0 && !c.planned.Taints() {
		c.record(obj)
		return nil
	}
	// Store it as tainted until its provisioners and actions finish, in case the program is killed.
	c.record(changed(obj, func(o *states.Object) { o.Status = states.Tainted }))
	c.unfinished = obj
	return nil
}
