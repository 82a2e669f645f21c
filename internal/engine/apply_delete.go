package engine

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/pace"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// forget removes objects from the state without destroying them.
func (v stepVisit) forget() {
	w, s := v.w, v.s
	addr, prov := s.Change.Addr, s.Change.Provider
	w.out.mu.Lock()
	var deposed []addrs.DeposedKey
	if inst := w.out.state.Instance(addr); inst != nil && s.Change.Deposed == "" {
		for key := range inst.Deposed {
			deposed = append(deposed, key)
		}
	}
	w.out.forgotten++
	w.out.mu.Unlock()
	w.out.storeObject(addr, s.Change.Deposed, nil, prov)
	if s.Change.Action == plans.Forget {
		for _, key := range deposed {
			w.out.storeObject(addr, key, nil, prov)
		}
	}
}

// delete deletes the current object or a deposed one.
func (v stepVisit) delete(ctx context.Context, deposed addrs.DeposedKey) error {
	w, s := v.w, v.s
	r, addr := s.Resource, s.Change.Addr
	w.out.mu.Lock()
	inst := w.out.state.Instance(addr)
	obj, key := inst.Object(deposed), s.Change.Provider.Key
	if inst != nil {
		key = inst.ProviderKey
	}
	w.out.mu.Unlock()
	if obj == nil {
		return nil
	}
	if r.Addr.Resource.Mode == addrs.Data {
		w.out.storeObject(addr, deposed, nil, s.Change.Provider)
		return nil
	}
	d := &deletion{instance: instance{w: w, r: r, addr: addr, by: readerAt(s.Node)}, deposed: deposed}
	var err error
	d.prov, err = d.providerAt(ctx, key)
	if err != nil {
		return err
	}
	l, err := d.upgrade(ctx, obj)
	if err != nil {
		return err
	}
	d.private = s.Change.Private
	if s.Change.Action.IsReplace() {
		d.private = l.obj.Private
	}
	if _, err := d.invokeActions(ctx, s.Change, configs.BeforeDestroy, l.value); err != nil {
		return err
	}
	if err := d.run(ctx, l); err != nil {
		return err
	}
	_, err = d.invokeActions(ctx, s.Change, configs.AfterDestroy, l.value)
	return err
}

// deletion deletes one object.
type deletion struct {
	instance
	deposed addrs.DeposedKey
	private []byte

	inDoubt bool // the provider gave no usable answer
}

func (d *deletion) run(ctx context.Context, l *objectState) error {
	w, r := d.w, d.r
	if d.deposed != "" {
		// If the object was deposed during this run, its deletion hasn't been planned yet.
		var err error
		d.private, err = d.planDeletion(ctx, l)
		if err != nil {
			return err
		}
	}
	what := Object{Addr: d.addr, Deposed: d.deposed}
	what.IDKey, what.IDValue = identify(l.value)
	meta, err := w.eval.providerMeta(ctx, r, nil)
	if err != nil {
		return err
	}
	defer w.calls.acquire(d.prov, pace.Write)()
	if w.halt.isSet() {
		return errHalted
	}
	start := w.op.env.now()
	null := cty.NullVal(r.Schema.Block.ImpliedType())
	err = w.out.start(&ApplyStart{Object: what, Action: plans.Delete, Provider: d.prov.addr, Planned: null,
		Builtin: d.prov.addr.Config.Provider.IsBuiltin()})
	if err != nil {
		return err
	}
	if d.deposed == "" && l.obj.Status != states.Tainted {
		err = d.runDestroyProvisioners(ctx, l.value)
	}
	if err == nil {
		err = d.call(ctx, l, null, meta)
	}
	w.out.observe(ApplyDone{Object: what, Action: plans.Delete, Failed: err != nil, Err: err,
		Elapsed: w.op.env.now().Sub(start), InDoubt: d.inDoubt})
	return err
}

func (d *deletion) call(ctx context.Context, l *objectState, null, meta cty.Value) error {
	w, r := d.w, d.r
	// Record the response before another call can start: the process may be killed at any time.
	return callWithSlot(w.calls, d.prov, "ApplyResourceChange", d.addr, func() error {
		return d.store(l, d.prov.ApplyResourceChange(ctx, providers.ApplyRequest{
			Type: r.Addr.Resource.Type, Prior: unmark(l.value), Planned: null, Config: null, Private: d.private,
			Meta: meta, Identity: l.identity,
		}))
	})
}

// store records the remaining object, if any, according to the provider's response.
func (d *deletion) store(l *objectState, resp providers.ApplyResponse) error {
	w, r := d.w, d.r
	failure := resp.Diagnostics.WithAddress(d.addr.String()).Report(w.out.warn)
	if d.inDoubt = resp.Unanswered; d.inDoubt {
		return withOutcome(failure, "It is not known whether %s was deleted. The state keeps it, and the next plan "+
			"finds out.", d.addr)
	}
	switch {
	case failure == nil && (resp.New == cty.NilVal || resp.New.IsNull()):
		w.out.storeObject(d.addr, d.deposed, nil, d.prov.addr)
		return nil
	case resp.New == cty.NilVal || resp.New.IsNull():
		return failure // the response has no object, so keep the stored one
	}
	if errs := resp.New.Type().TestConformance(r.Schema.Block.ImpliedType()); len(errs) > 0 {
		return tfdiags.Join(failure, providerBug("Provider produced invalid object", d.prov.addr.Config.Provider,
			"returned an invalid object when %s was deleted: %s.", d.addr, tfdiags.FormatError(errs[0])))
	}
	marked := markStored(r.Schema.Block, cty.UnknownAsNull(resp.New), l.obj.SensitivePaths)
	obj, err := encodeObject(r, marked, *l.obj)
	if err != nil {
		return tfdiags.Join(failure, err)
	}
	obj.Private, obj.CreateBeforeDestroy = resp.Private, false
	if identity := encodeIdentity(resp.Identity); identity != nil {
		obj.Identity, obj.IdentityVersion = identity, r.Schema.IdentityVersion
	}
	w.out.storeObject(d.addr, d.deposed, obj, d.prov.addr)
	if failure != nil {
		return failure
	}
	return providerBug("Provider returned invalid result object after apply", d.prov.addr.Config.Provider,
		"returned an object after deleting %s, so it may still exist. It is kept in the state.", d.addr)
}
