package engine

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// orphanPlan is the planning of an object that is not declared: an instance that is no longer in
// the configuration, or a deposed object.
type orphanPlan struct {
	instance
	stored  *states.Instance
	deposed addrs.DeposedKey
}

func (o *orphanPlan) plan() (diags tfdiags.Diagnostics) {
	defer o.w.trackWork("plan", o.addr)(&diags)
	w, r := o.w, o.r
	obj := o.stored.Current
	if o.deposed != "" {
		obj = o.stored.Deposed[o.deposed]
	}
	if o.prov, diags = o.providerAt(o.providerKey()); diags.HasErrors() {
		return diags
	}
	if r.Addr.Resource.Mode == addrs.Data {
		w.out.setObject(o.addr, o.deposed, nil, o.prov.addr)
		return diags
	}
	l, more := o.upgrade(obj)
	diags = diags.Append(more...)
	if more.HasErrors() {
		return diags
	}
	w.out.setPrevious(o.addr, o.deposed, l.obj, o.prov.addr)
	if !w.op.skipRefresh {
		l, more = o.refresh(o.deposed, l)
		diags = diags.Append(o.explain(more)...)
		if more.HasErrors() {
			return diags
		}
	}
	w.out.setObject(o.addr, o.deposed, l.obj, o.prov.addr)
	if !l.exists() {
		l.identity = cty.NilVal
		if o.deposed != "" && w.op.Mode != plans.RefreshOnly {
			w.addChange(r, o.change(l, plans.NoOp, plans.NoReason))
		}
		return diags
	}
	if w.op.Mode == plans.RefreshOnly {
		return diags
	}
	return diags.Append(o.planRemoval(l)...)
}

// providerKey returns the key of the provider instance that manages the object. It is the stored
// key, unless the resource block now uses another provider configuration, one without keys.
func (o *orphanPlan) providerKey() addrs.InstanceKey {
	if p := o.r.Provider; p.Instances == nil && o.w.op.Prior.Resource(o.addr.Abs()).Provider != p.Addr {
		return addrs.NoKey
	}
	return o.stored.ProviderKey
}

// planRemoval plans to destroy the object, or to remove it from the state only.
func (o *orphanPlan) planRemoval(l *objectState) tfdiags.Diagnostics {
	w, r := o.w, o.r
	var diags tfdiags.Diagnostics
	forget, reason := forgets(r, l.obj)
	if r.Removed != nil {
		forget = !r.Removed.Destroy.Value
	}
	if forget {
		if reason == plans.NoReason {
			reason = o.reason()
		}
		diags = diags.Append(tfdiags.Warningf(willForget,
			"%s will be removed from the state but not destroyed.", o.addr))
		w.addChange(r, o.change(l, plans.Forget, reason))
		return diags
	}
	change := o.change(l, plans.Delete, o.reason())
	private, more := o.planDeletion(l)
	diags = diags.Append(o.explain(more)...)
	if more.HasErrors() {
		return diags
	}
	change.Private = private
	w.addChange(r, change)
	if o.deposed == "" {
		diags = diags.Append(o.checkPreventDestroy(true)...)
	}
	return diags
}

func (o *orphanPlan) change(l *objectState, action plans.Action, reason plans.Reason) *plans.InstanceChange {
	c := &plans.InstanceChange{
		Addr: o.addr, PrevAddr: o.w.op.moves.Origin(o.addr), Deposed: o.deposed, Provider: o.prov.addr,
		Action: action, Reason: reason,
		Before: l.value, After: cty.NullVal(o.r.Schema.Block.ImpliedType()), BeforeIdentity: l.identity,
	}
	if action == plans.Delete {
		c.AfterIdentity = l.identity
	}
	return c
}

// forgets reports whether an undeclared object is removed from the state without destroying it,
// according to lifecycle.destroy in the configuration or, if that is gone, in the state. Removed
// blocks override it, except when everything is destroyed.
func forgets(r *graph.Resource, obj *states.Object) (bool, plans.Reason) {
	switch {
	case r.Config != nil && r.Config.Destroy.Set:
		return !r.Config.Destroy.Value, reasonIf(!r.Config.Destroy.Value, plans.ForgotLifecycleDestroyConfig)
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
	case r.Config == nil:
		if _, moved := o.w.op.moves.Previous(o.addr); moved {
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

// planDeletion has the provider plan the destruction, if the provider supports that.
func (t *instance) planDeletion(l *objectState) (private []byte, diags tfdiags.Diagnostics) {
	r, prov, addr, w := t.r, t.prov, t.addr, t.w
	null := cty.NullVal(r.Schema.Block.ImpliedType())
	if !r.Provider.Schema.PlanDestroy {
		return l.obj.Private, nil
	}
	meta, diags := w.eval.providerMeta(r, nil)
	if diags.HasErrors() {
		return nil, diags
	}
	resp := t.planChange(providers.PlanRequest{
		Type: r.Addr.Resource.Type, Prior: unmark(l.value), Proposed: null, Config: null,
		Private: l.obj.Private, Meta: meta, Identity: l.identity,
	})
	diags = diags.Append(resp.Diagnostics...)
	if diags.HasErrors() {
		return nil, diags
	}
	if resp.Deferred != "" {
		return nil, diags.Append(deferred(prov, addr, resp.Deferred))
	}
	if resp.Planned != cty.NilVal && !resp.Planned.IsNull() {
		return nil, diags.Append(providerBug("Provider produced invalid plan", prov.addr.Config.Provider,
			"planned an object where %s is to be destroyed.", addr))
	}
	return resp.Private, diags
}

// planDestroy plans the destruction of all objects of a resource. Its value stays the stored one,
// since providers may be configured with it.
func (v resourceVisit) planDestroy() tfdiags.Diagnostics {
	w, r := v.w, v.r
	if r.Addr.Resource.Mode == addrs.Ephemeral {
		return v.plan()
	}
	var jobs []func() tfdiags.Diagnostics
	for _, prior := range r.Prior {
		for _, key := range prior.SortedKeys() {
			inst, addr := prior.Instances[key], prior.Addr.Instance(key)
			if !r.Selected.Has(addr) {
				continue
			}
			o := orphanPlan{instance: instance{w: w, r: r, addr: addr,
				in: w.modules.at(r.Module, prior.Addr.Module)}, stored: inst}
			if inst.Current != nil {
				jobs = append(jobs,
					func() tfdiags.Diagnostics { current := o; return current.planDestroy(inst.Current) })
			}
			for _, deposed := range slices.Sorted(maps.Keys(inst.Deposed)) {
				old := o
				old.deposed = deposed
				jobs = append(jobs, func() tfdiags.Diagnostics { return old.planDestroy(inst.Deposed[deposed]) })
			}
		}
	}
	diags := w.eval.values(r).fromState()
	if len(jobs) > 0 {
		diags = diags.Append(w.each(len(jobs), func(i int) tfdiags.Diagnostics { return jobs[i]() })...)
	}
	return diags
}

// planDestroy plans to destroy one object, whether or not it is declared.
func (o *orphanPlan) planDestroy(obj *states.Object) tfdiags.Diagnostics {
	w, r := o.w, o.r
	prov, diags := o.providerAt(o.providerKey())
	if diags.HasErrors() {
		return diags
	}
	o.prov = prov
	null := cty.NullVal(r.Schema.Block.ImpliedType())
	if r.Addr.Resource.Mode == addrs.Data {
		w.addChange(r, &plans.InstanceChange{Addr: o.addr, PrevAddr: o.addr, Provider: prov.addr,
			Action: plans.Delete, Before: null, After: null})
		return diags
	}
	l, more := o.upgrade(obj)
	diags = diags.Append(more...)
	if more.HasErrors() {
		return diags
	}
	w.out.setPrevious(o.addr, o.deposed, l.obj, prov.addr)
	w.out.setObject(o.addr, o.deposed, l.obj, prov.addr)
	if forget, reason := forgets(r, l.obj); forget {
		w.addChange(r, o.change(l, plans.Forget, reason))
		return diags
	}
	change := o.change(l, plans.Delete, plans.NoReason)
	change.Private, more = o.planDeletion(l)
	diags = diags.Append(o.explain(more)...)
	if more.HasErrors() {
		return diags
	}
	w.addChange(r, change)
	if o.deposed == "" {
		w.out.report(o.checkPreventDestroy(true)) // the plan still shows what else would be destroyed
	}
	return diags
}
