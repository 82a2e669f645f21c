package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// orphanPlan plans an object that is not declared: an instance that is no longer in the
// configuration, or a deposed object.
type orphanPlan struct {
	instance
	stored  *states.Instance
	deposed addrs.DeposedKey
	x       *expansion // gets the object's value in a plan of a destruction; nil if nothing needs it
}

func (o *orphanPlan) plan(ctx context.Context) (err error) {
	defer o.w.trackWork("plan", o.addr)(&err)
	w, r := o.w, o.r
	obj := o.stored.Object(o.deposed)
	if r.Addr.Resource.Mode == addrs.Data {
		w.out.setObject(o.addr, o.deposed, nil, addrs.ProviderInstance{Config: r.Provider.Addr, Key: o.providerKey()})
		return nil
	}
	o.prov, err = o.providerAt(ctx, o.providerKey())
	if err != nil {
		return err
	}
	l, err := o.upgrade(ctx, obj)
	if err != nil {
		return err
	}
	w.out.setPrevious(o.addr, o.deposed, l.obj, o.prov.addr)
	if w.op.reads(o.addr, o.deposed, o.prov) {
		l, err = o.refresh(ctx, o.deposed, l)
		if err != nil {
			return err
		}
	}
	if l.exists() && o.deposed == "" && w.op.Mode != plans.RefreshOnly && len(l.obj.DependencyInstances) == 0 {
		if lost := o.lostReads(ctx); lost != nil { // the order of deletions follows from DependencyInstances
			l.obj = changed(l.obj, func(obj *states.Object) { obj.DependencyInstances = lost })
		}
	}
	w.out.setObject(o.addr, o.deposed, l.obj, o.prov.addr)
	if !l.exists() {
		l.identity = cty.NilVal
		if o.deposed != "" && w.op.Mode != plans.RefreshOnly {
			w.addChange(r, o.change(l, plans.NoOp, plans.NoReason))
		}
		return nil
	}
	if w.op.Mode == plans.RefreshOnly {
		return nil
	}
	return o.planRemoval(ctx, l)
}

// providerKey returns the key of the provider instance that manages the object. This is the stored
// key, or NoKey if the resource block now uses a different provider configuration without for_each.
func (o *orphanPlan) providerKey() addrs.InstanceKey {
	if p := o.r.Provider; p.Instances == nil && o.w.op.Prior.Resource(o.addr.Abs()).Provider != p.Addr {
		return addrs.NoKey
	}
	return o.stored.ProviderKey
}

// planRemoval plans to destroy the object, or to remove it from the state without destroying it.
func (o *orphanPlan) planRemoval(ctx context.Context, l *objectState) error {
	w, r := o.w, o.r
	forget, reason := forgets(r, l.obj)
	if removal := w.graph.Removals[r]; removal != nil {
		forget = !removal.Config.Destroy.Value
	}
	if forget {
		if reason == plans.NoReason {
			reason = o.reason()
		}
		w.out.warn(tfdiags.Warningf("Resource will be removed from the state",
			"%s will be removed from the state but not destroyed.", o.addr))
		w.addChange(r, o.change(l, plans.Forget, reason))
		return nil
	}
	if err := o.addDeletion(ctx, l, o.reason()); err != nil || o.deposed != "" {
		return err
	}
	return o.checkPreventDestroy(ctx, true)
}

// addDeletion plans to destroy the object and adds the change.
func (o *orphanPlan) addDeletion(ctx context.Context, l *objectState, reason plans.Reason) (err error) {
	change := o.change(l, plans.Delete, reason)
	if change.Private, err = o.planDeletion(ctx, l); err != nil {
		return err
	}
	if err := o.planInvocations(ctx, change); err != nil {
		return err
	}
	o.w.addChange(o.r, change)
	return nil
}

func (o *orphanPlan) change(l *objectState, action plans.Action, reason plans.Reason) *plans.InstanceChange {
	c := &plans.InstanceChange{
		Addr: o.addr, MovedFrom: o.w.op.moves.Previous(o.addr), Deposed: o.deposed, Provider: o.prov.addr,
		Action: action, Reason: reason,
		Before: l.value, After: cty.NullVal(o.r.Schema.Block.ImpliedType()), BeforeIdentity: l.identity,
	}
	if action == plans.Delete {
		c.AfterIdentity = l.identity
	}
	if reason == plans.DeleteNoModule {
		c.NoModule = o.w.modules.missing(o.w.graph.Root, o.addr.Module)
	}
	return c
}

// forgets reports whether an undeclared object is removed from the state without being destroyed,
// and why. This follows lifecycle.destroy in the configuration or, if it isn't set there, the value
// stored in the state. Callers must check for a removed block, which overrides both.
func forgets(r *reads.Resource, obj *states.Object) (bool, plans.Reason) {
	switch {
	case r.Config != nil && r.Config.Lifecycle.Destroy.Set:
		keep := !r.Config.Lifecycle.Destroy.Value
		return keep, reasonIf(keep, plans.ForgotLifecycleDestroyConfig)
	case obj.SkipDestroy:
		return true, plans.ForgotLifecycleDestroyState
	}
	return false, plans.NoReason
}

func reasonIf(b bool, r plans.Reason) plans.Reason {
	if b {
		return r
	}
	return plans.NoReason
}

// reason returns why the object is not declared.
func (o *orphanPlan) reason() plans.Reason {
	r := o.r
	switch {
	case o.deposed != "":
		return plans.NoReason
	case o.w.op.past != nil:
		return plans.DeleteNewer
	case r.Config == nil:
		if o.w.op.moves.Previous(o.addr) != nil {
			return plans.DeleteNoMoveTarget
		}
		return plans.DeleteNoResourceConfig
	case o.in == nil:
		return plans.DeleteNoModule
	}
	_, isInt := o.addr.Key.IsInt()
	_, isString := o.addr.Key.IsString()
	switch {
	case !isInt && !isString && r.Config.Enabled != nil:
		return plans.DeleteEnabledFalse
	case !isInt && !isString, isInt && r.Config.Count == nil, isString && r.Config.ForEach == nil:
		return plans.DeleteWrongRepetition
	case isInt:
		return plans.DeleteCountIndex
	}
	return plans.DeleteEachKey
}

// planDeletion asks the provider to plan the destruction, if the provider supports that. It returns
// the private data that the deletion needs.
func (t *instance) planDeletion(ctx context.Context, l *objectState) (private []byte, err error) {
	r, prov, addr, w := t.r, t.prov, t.addr, t.w
	null := cty.NullVal(r.Schema.Block.ImpliedType())
	if !r.Provider.Schema.PlanDestroy {
		return l.obj.Private, nil
	}
	meta, err := w.eval.providerMeta(ctx, r, nil)
	if err != nil {
		return nil, t.explained(err)
	}
	resp := t.planChange(ctx, providers.PlanRequest{
		Type: r.Addr.Resource.Type, Prior: unmark(l.value), Proposed: null, Config: null,
		Private: l.obj.Private, Meta: meta, Identity: l.identity,
	})
	if err := t.report(resp.Diagnostics); err != nil {
		return nil, err
	}
	if resp.Deferred != "" {
		return nil, t.explained(deferred(prov, addr, plans.DeferReason(resp.Deferred)))
	}
	if resp.Planned != cty.NilVal && !resp.Planned.IsNull() {
		return nil, t.explained(providerBug("Provider produced invalid plan", prov.addr.Config.Provider,
			"planned an object where %s is to be destroyed.", addr))
	}
	return resp.Private, nil
}

// planDestroy plans the destruction of all objects of a resource. The resource keeps its stored
// value, since providers may be configured with it.
func (v resourceVisit) planDestroy(ctx context.Context) error {
	w, r := v.w, v.r
	if r.Addr.Resource.Mode == addrs.Ephemeral {
		return v.plan(ctx)
	}
	var jobs []func() error
	modules, stored := w.modules.of(r.Module), map[*moduleInstance]*expansion{}
	if r.Config != nil {
		for _, in := range modules {
			stored[in] = w.eval.values(r).expandStored(in)
		}
	}
	for _, prior := range r.Prior {
		in := w.modules.at(r.Module, prior.Addr.Module)
		for _, key := range prior.SortedKeys() {
			inst, addr := prior.Instances[key], prior.Addr.Instance(key)
			if !r.Selected.Has(addr) {
				continue
			}
			o := orphanPlan{instance: instance{w: w, r: r, addr: addr, in: in, by: readerAt(v.node())}, stored: inst, x: stored[in]}
			if inst.Current != nil {
				current := o
				jobs = append(jobs, func() error { return current.planDestroy(ctx, inst.Current) })
			}
			for _, deposed := range slices.Sorted(maps.Keys(inst.Deposed)) {
				old := o
				old.deposed = deposed
				jobs = append(jobs, func() error { return old.planDestroy(ctx, inst.Deposed[deposed]) })
			}
		}
	}
	var err error
	if len(jobs) > 0 {
		err = w.each(len(jobs), func(i int) error { return jobs[i]() })
	}
	var read tfdiags.Diagnostics
	for _, in := range modules {
		if x := stored[in]; x != nil {
			read = read.AppendError(w.eval.values(r).setStored(in, x))
		}
	}
	return read.AppendError(w.eval.values(r).completeUndeclared()).AppendError(err).Err()
}

// planDestroy plans to destroy one object, whether or not it is declared.
func (o *orphanPlan) planDestroy(ctx context.Context, obj *states.Object) error {
	w, r := o.w, o.r
	var err error
	o.prov, err = o.providerAt(ctx, o.providerKey())
	if err != nil {
		return err
	}
	null := cty.NullVal(r.Schema.Block.ImpliedType())
	if r.Addr.Resource.Mode == addrs.Data {
		w.addChange(r, &plans.InstanceChange{Addr: o.addr, Provider: o.prov.addr,
			Action: plans.Delete, Before: null, After: null})
		return nil
	}
	l, err := o.upgrade(ctx, obj)
	if err != nil {
		return err
	}
	w.out.setPrevious(o.addr, o.deposed, l.obj, o.prov.addr)
	w.out.setObject(o.addr, o.deposed, l.obj, o.prov.addr)
	if at, ok := o.x.has(o.addr.Key); ok && o.deposed == "" {
		o.x.objs[at] = l.value
	}
	if forget, reason := forgets(r, l.obj); forget {
		w.addChange(r, o.change(l, plans.Forget, reason))
		return nil
	}
	if err := o.addDeletion(ctx, l, plans.NoReason); err != nil {
		return err
	}
	if o.deposed == "" {
		w.out.report(o.checkPreventDestroy(ctx, true)) // the plan still shows what else would be destroyed
	}
	return nil
}
