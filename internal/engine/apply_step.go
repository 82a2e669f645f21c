package engine

import (
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// openResource decides the instances of a resource before its Steps run.
func (w *walk) openResource(r *resource) tfdiags.Diagnostics {
	if w.phase.destroy {
		if r.addr.Resource.Mode == addrs.Ephemeral {
			return w.planResource(r)
		}
		return w.stateValues(r)
	}
	if r.addr.Resource.Mode == addrs.Ephemeral {
		return w.planResource(r)
	}
	var diags tfdiags.Diagnostics
	for _, in := range r.module.instances {
		x, more := w.expandResource(r, in)
		diags = diags.Append(more)
		if !more.HasErrors() {
			in.resources[r.slot] = x
			w.declare(r, in)
		}
	}
	return diags
}

// declare makes an entry in the state for a resource whose instances are decided, even when it has no objects yet: after a run that
// failed, it says that the configuration asks for something that nobody has tried to create.
func (w *walk) declare(r *resource, in *moduleInstance) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if addr := r.addr.Resource.InInstance(in.addr); w.state.Resource(addr) == nil {
		w.state.EnsureResource(addr, r.provider.addr)
	}
}

// settleResource gives a resource its value after all of its Steps.
func (w *walk) settleResource(r *resource) tfdiags.Diagnostics {
	if r.cfg == nil || w.phase.destroy || r.addr.Resource.Mode == addrs.Ephemeral {
		return nil
	}
	var diags tfdiags.Diagnostics
	for _, in := range r.module.instances {
		if x := in.resources[r.slot]; x != nil {
			diags = diags.Append(w.fillFromState(r, in, x))
			if len(w.targets)+len(w.excludes) > 0 {
				x.dropAbsent(r.exprs.rep)
			}
			x.finish(r.schema.Block.ImpliedType())
		}
	}
	return diags
}

// runStep carries out one part of a planned change.
func (w *walk) runStep(s *step) tfdiags.Diagnostics {
	defer w.work(stepVerbs[s.part], s.change.Addr)()
	switch s.part {
	case stepDelete:
		return w.applyDelete(s, s.change.Deposed)
	case stepDeposed:
		key := s.change.Deposed
		if key == "" {
			key = s.change.ReplaceDeposed
		}
		return w.applyDelete(s, key)
	case stepForget:
		return w.applyForget(s)
	}
	a, diags := w.newApply(s)
	if diags.HasErrors() {
		return diags
	}
	switch {
	case s.resource.addr.Resource.Mode == addrs.Data:
		return a.read()
	case s.change.Action == plans.NoOp:
		return a.conditions()
	}
	return a.run()
}

// applyStep is the making of one planned change: a create or an update.
type applyStep struct {
	*instancePlan
	planned *plans.InstanceChange
	forced  bool // see step
	start   time.Time
}

func (w *walk) newApply(s *step) (*applyStep, tfdiags.Diagnostics) {
	r, addr := s.resource, s.change.Addr
	in := r.module.index[addr.Module]
	var x *expansion
	if in != nil {
		x = in.resources[r.slot]
	}
	at, ok := x.has(addr.Key)
	if !ok {
		return nil, tfdiags.Diagnostics{tfdiags.Errorf("Planned instance is gone",
			"%s was planned, but count or for_each now give other instances than while planning. Make a new plan.", addr)}
	}
	p := &instancePlan{w: w, r: r, addr: addr, c: w.context(in, x.rep(at)), x: x, at: at}
	prov, diags := w.resourceProvider(r, addr, p.c, addrs.NoKey)
	p.prov = prov
	return &applyStep{instancePlan: p, planned: s.change, forced: s.forced}, diags
}

// conditions looks at the conditions of an object that doesn't change.
func (a *applyStep) conditions() tfdiags.Diagnostics {
	w, r := a.w, a.r
	diags := w.evalRules(a.c, r.exprs.pre, a.rules("Resource precondition failed"))
	if diags.HasErrors() {
		return diags
	}
	obj := w.current(a.addr)
	if obj == nil {
		return diags
	}
	v, err := obj.Decode(r.schema.Block.ImpliedType())
	if err != nil {
		return diags.Append(err)
	}
	a.x.objs[a.at] = markStored(r.schema.Block, v, nil)
	return diags.Append(w.evalRules(a.c.withSelf(a.x.objs[a.at]), r.exprs.post, a.rules("Resource postcondition failed")))
}

// read reads a data source that could not be read while planning.
func (a *applyStep) read() tfdiags.Diagnostics {
	w, r := a.w, a.r
	diags := w.evalRules(a.c, r.exprs.pre, a.rules("Resource precondition failed"))
	if diags.HasErrors() {
		return diags
	}
	config, pvms, more := a.dataConfig()
	diags = diags.Append(more)
	if more.HasErrors() {
		return diags
	}
	v, more := a.readData(config, pvms)
	if r.cfg.Check != nil {
		diags = diags.Append(w.checkData(a.instancePlan, more, &v, config))
	} else {
		diags = diags.Append(more)
		if more.HasErrors() {
			return diags
		}
	}
	a.x.objs[a.at] = v
	if v.IsWhollyKnown() {
		if diags = diags.Append(a.storeData(v)); diags.HasErrors() {
			return diags
		}
		w.observe(ObjectStored{Addr: a.addr, New: w.current(a.addr), Provider: a.prov.addr})
	}
	return diags.Append(w.evalRules(a.c.withSelf(v), r.exprs.post, a.rules("Resource postcondition failed")))
}

// run creates or updates the object.
func (a *applyStep) run() tfdiags.Diagnostics {
	w, r := a.w, a.r
	prior, diags := a.priorObject()
	if diags.HasErrors() {
		return diags
	}
	diags = diags.Append(w.evalRules(a.c, r.exprs.pre, a.rules("Resource precondition failed")))
	if diags.HasErrors() {
		return diags
	}
	prop, more := a.evaluate()
	diags = diags.Append(more)
	if more.HasErrors() {
		return diags
	}
	if !prop.config.IsWhollyKnown() {
		return diags.Append(tfdiags.Errorf("Configuration contains unknown value",
			"There are unknown values in the configuration of %s, although everything it depends on was applied. This is a bug in tofu: please report it.", a.addr).At(r.cfg.Range))
	}
	final, more := a.plan(prior, prop, planWishes{})
	diags = diags.Append(more)
	if more.HasErrors() {
		return diags
	}
	final.Action = a.samePaper(final.Action)
	diags = diags.Append(a.checkFinal(final))
	if diags.HasErrors() {
		return diags
	}
	switch {
	case final.Action == plans.NoOp:
		a.x.objs[a.at] = prior.value
	case final.Action == plans.Update && unmark(final.After).RawEquals(unmark(prior.value)):
		diags = diags.Append(a.storeMarks(prior, final.After))
	default:
		return diags.Append(a.make(prior, prop, final))
	}
	if diags.HasErrors() {
		return diags
	}
	return diags.Append(w.evalRules(a.c.withSelf(a.x.objs[a.at]), r.exprs.post, a.rules("Resource postcondition failed")))
}

// priorObject gives the object that is updated; there is none for a creation, the creating half of a replacement included.
func (a *applyStep) priorObject() (*live, tfdiags.Diagnostics) {
	none := &live{value: cty.NullVal(a.r.schema.Block.ImpliedType())}
	if a.planned.Action != plans.Update {
		return none, nil
	}
	obj := a.w.current(a.addr)
	if obj == nil {
		return none, nil
	}
	v, err := obj.Decode(a.r.schema.Block.ImpliedType())
	if err != nil {
		return nil, tfdiags.Diagnostics{}.Append(fmt.Errorf("reading %s from the state: %w", a.addr, err))
	}
	l, diags := a.w.withIdentity(a.r, a.prov, a.addr, &live{value: markStored(a.r.schema.Block, v, nil), obj: obj}, nil)
	return l, diags
}

// samePaper gives the action of the planned change where the final plan, made without the old object, says Create.
func (a *applyStep) samePaper(action plans.Action) plans.Action {
	if action == plans.Create && a.planned.Action.IsReplace() {
		return a.planned.Action
	}
	return action
}

// checkFinal holds the final plan against the one that was approved.
func (a *applyStep) checkFinal(final *plans.InstanceChange) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	planned := a.planned
	const summary = "Provider produced inconsistent final plan"
	if final.Action != planned.Action && !(planned.Action == plans.Update && final.Action == plans.NoOp) {
		return diags.Append(providerBug(summary, a.prov.addr.Config.Provider, "changed the planned action of %s from %s to %s.", a.addr, planned.Action, final.Action)).WithAddress(a.addr.String())
	}
	for _, err := range a.incompatible(planned.After, final.After) {
		diags = diags.Append(providerBug(summary, a.prov.addr.Config.Provider,
			"planned something else for %s when all values of its configuration were known: %s.", a.addr, tfdiags.FormatError(err)))
	}
	return diags.WithAddress(a.addr.String())
}

// incompatible says where a value is not what was planned; complaints quote values, so they are worded from marked ones.
func (a *applyStep) incompatible(planned, actual cty.Value) []error {
	schema := a.r.schema.Block
	if len(objchange.AssertCompatible(schema, unmark(planned), unmark(actual))) == 0 {
		return nil
	}
	return objchange.AssertCompatible(schema, planned, markLike(actual, planned))
}

// markLike gives a value the marks that another one of the same shape has.
func markLike(v, like cty.Value) cty.Value {
	if v.IsMarked() || !like.ContainsMarked() {
		return v
	}
	_, pvms := like.UnmarkDeepWithPaths()
	return v.MarkWithPaths(pvms)
}

// storeMarks records that other parts of an unchanged object are sensitive now.
func (a *applyStep) storeMarks(prior *live, after cty.Value) tfdiags.Diagnostics {
	obj, err := a.w.encodeObject(a.r, after, *prior.obj)
	if err != nil {
		return tfdiags.Diagnostics{}.Append(err)
	}
	obj.Dependencies = a.r.deps
	what := Object{Addr: a.addr}
	what.IDKey, what.IDValue = identify(after)
	a.w.observe(ApplyStart{Object: what, Action: plans.Update, Provider: a.prov.addr, Builtin: true})
	a.record(obj)
	a.w.observe(ApplyDone{Object: what, Action: plans.Update})
	a.x.objs[a.at] = after
	return nil
}

// record puts an object into the state and tells the observer.
func (a *applyStep) record(obj *states.Object) { a.w.storeObject(a.addr, "", obj, a.prov.addr) }

// storeObject puts an object, or nil for none, into the state and tells the observer.
func (w *walk) storeObject(addr addrs.AbsInstance, deposed addrs.DeposedKey, obj *states.Object, prov addrs.ProviderInstance) {
	w.setState(addr, deposed, obj, prov)
	if obj == nil {
		w.undeclare(addr.Abs())
	}
	w.observe(ObjectStored{Addr: addr, Deposed: deposed, New: obj, Provider: prov})
}

// undeclare takes a resource without objects out of the state: its last one is gone, or could not be created.
func (w *walk) undeclare(addr addrs.AbsResource) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.state.Resource(addr); r != nil && len(r.Instances) == 0 {
		w.state.RemoveResource(addr)
	}
}

// make asks the provider to make the change, records what came of it, and runs provisioners.
func (a *applyStep) make(prior *live, prop *proposal, final *plans.InstanceChange) tfdiags.Diagnostics {
	w, r := a.w, a.r
	action := plans.Create
	if final.Action == plans.Update {
		action = plans.Update
	}
	what := Object{Addr: a.addr}
	what.IDKey, what.IDValue = identify(prior.value)
	planned := unmark(final.After)
	a.start = w.now()
	w.observe(ApplyStart{Object: what, Action: action, Provider: a.prov.addr, Planned: planned, Sensitive: sensitivePaths(final.After), Builtin: a.prov.addr.Config.Provider.IsBuiltin()})
	var old *states.Object
	if a.planned.Action == plans.CreateThenDelete {
		old = a.depose()
	}
	release := w.call(a.prov, "ApplyResourceChange")
	resp := a.prov.ApplyResourceChange(w.ctx, providers.ApplyRequest{
		Type: r.addr.Resource.Type, Prior: unmark(prior.value), Planned: planned, Config: prop.config, Private: final.Private,
		Meta: prop.meta, Identity: final.AfterIdentity,
	})
	release()
	diags := a.explain(resp.Diagnostics)
	value, more := a.result(prior, planned, resp)
	diags = diags.Append(more)
	diags = diags.Append(a.finish(prior, prop, final, action, value, resp, diags.HasErrors()))
	if old != nil && diags.HasErrors() && w.current(a.addr) == nil {
		a.restore(old)
	}
	what.IDKey, what.IDValue = identify(value)
	w.observe(ApplyDone{Object: what, Action: action, Failed: diags.HasErrors(), Elapsed: w.now().Sub(a.start), Abandoned: w.abandoned(resp)})
	if obj := w.current(a.addr); obj != nil && value != cty.NilVal && !value.IsNull() {
		diags = diags.Append(w.evalRules(a.c.withSelf(a.x.objs[a.at]), r.exprs.post, a.rules("Resource postcondition failed")))
	}
	return diags
}

func sensitivePaths(v cty.Value) []cty.Path {
	if !v.ContainsMarked() {
		return nil
	}
	_, pvms := v.UnmarkDeepWithPaths()
	out := make([]cty.Path, len(pvms))
	for i, pvm := range pvms {
		out[i] = pvm.Path
	}
	return out
}

// depose sets the current object aside, so that a new one can be created before it is deleted.
func (a *applyStep) depose() *states.Object {
	old := a.w.current(a.addr)
	if old == nil {
		return nil
	}
	a.w.storeObject(a.addr, a.planned.ReplaceDeposed, old, a.prov.addr)
	a.w.storeObject(a.addr, "", nil, a.prov.addr)
	return old
}

// restore takes a deposed object back when no new one was created.
func (a *applyStep) restore(old *states.Object) {
	a.w.storeObject(a.addr, "", old, a.prov.addr)
	a.w.storeObject(a.addr, a.planned.ReplaceDeposed, nil, a.prov.addr)
}

// result gives the object that the provider returned, as far as it can be kept. Nothing that a provider returned is dropped because
// something else about it is wrong.
func (a *applyStep) result(prior *live, planned cty.Value, resp providers.ApplyResponse) (cty.Value, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	ty := a.r.schema.Block.ImpliedType()
	failed := resp.Diagnostics.HasErrors()
	const bug = "Provider produced invalid object"
	p := a.prov.addr.Config.Provider
	if resp.New == cty.NilVal {
		if !failed {
			diags = diags.Append(providerBug(bug, p, "returned nothing after applying %s.", a.addr))
		}
		return prior.value, diags
	}
	if errs := resp.New.Type().TestConformance(ty); len(errs) > 0 {
		for _, err := range errs {
			diags = diags.Append(providerBug(bug, p, "returned an object for %s that its schema does not allow: %s. The object as it was known before is kept in the state.", a.addr, tfdiags.FormatError(err)))
		}
		return prior.value, diags
	}
	value := objchange.NormalizeFromLegacy(a.r.schema.Block, resp.New)
	if !value.IsWhollyKnown() {
		diags = diags.Append(a.unknownResults(value))
		value = cty.UnknownAsNull(value)
	}
	if failed || diags.HasErrors() {
		return value, diags
	}
	if value.IsNull() {
		return value, diags.Append(providerBug("Provider returned invalid result object after apply", p, "returned no object after applying %s, although nothing failed.", a.addr))
	}
	if !resp.LegacyTypes {
		for _, err := range a.incompatible(markLike(planned, a.planned.After), value) {
			diags = diags.Append(providerBug("Provider produced inconsistent result after apply", p,
				"did not do what it had planned for %s: %s.", a.addr, tfdiags.FormatError(err)))
		}
	}
	return value, diags.WithAddress(a.addr.String())
}

func (a *applyStep) unknownResults(v cty.Value) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if !v.IsKnown() {
			diags = diags.Append(providerBug("Provider returned invalid result object after apply", a.prov.addr.Config.Provider,
				"returned an unknown value for %s%s after applying it, and null was stored instead.", a.addr, tfdiags.FormatPath(path)))
		}
		return v.IsKnown(), nil
	})
	return diags
}

// finish records the object, and runs its provisioners where it was created.
func (a *applyStep) finish(prior *live, prop *proposal, final *plans.InstanceChange, action plans.Action, value cty.Value, resp providers.ApplyResponse, failed bool) tfdiags.Diagnostics {
	w, r := a.w, a.r
	if value.IsNull() { // an error without a value: the object is as it was, if there was one
		w.undeclare(a.addr.Abs())
		return nil
	}
	marked := markStored(r.schema.Block, value.MarkWithPaths(prop.marks), nil)
	like := states.Object{Private: resp.Private, Identity: encodeIdentity(resp.Identity), IdentityVersion: r.schema.IdentityVersion,
		CreateBeforeDestroy: a.forced || a.planned.Action == plans.CreateThenDelete, SkipDestroy: r.cfg.Destroy != nil && !*r.cfg.Destroy, Dependencies: r.deps}
	if prior.exists() {
		like.Status = prior.obj.Status
		if like.Identity == nil {
			like.Identity, like.IdentityVersion = prior.obj.Identity, prior.obj.IdentityVersion
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
	case action == plans.Create:
		like.Status = states.Tainted
	}
	obj, err := w.encodeObject(r, marked, like)
	if err != nil {
		return tfdiags.Diagnostics{}.Append(fmt.Errorf("storing %s: %w", a.addr, err))
	}
	a.record(obj)
	a.x.objs[a.at] = marked
	if action != plans.Create || failed || len(r.exprs.provisioners) == 0 {
		return nil
	}
	diags := w.provision(a.instancePlan, marked, false)
	if diags.HasErrors() {
		a.record(changed(obj, func(o *states.Object) { o.Status = states.Tainted }))
	}
	return diags
}

// applyForget drops objects from the state and leaves them as they are.
func (w *walk) applyForget(s *step) tfdiags.Diagnostics {
	addr, prov := s.change.Addr, s.change.Provider
	w.mu.Lock()
	var deposed []addrs.DeposedKey
	if inst := w.state.Instance(addr); inst != nil && s.change.Deposed == "" {
		for key := range inst.Deposed {
			deposed = append(deposed, key)
		}
	}
	w.forgotten++
	w.mu.Unlock()
	w.storeObject(addr, s.change.Deposed, nil, prov)
	if s.change.Action == plans.Forget {
		for _, key := range deposed {
			w.storeObject(addr, key, nil, prov)
		}
	}
	return nil
}

// applyDelete deletes the current object or a deposed one.
func (w *walk) applyDelete(s *step, deposed addrs.DeposedKey) tfdiags.Diagnostics {
	r, addr := s.resource, s.change.Addr
	w.mu.Lock()
	inst := w.state.Instance(addr)
	var obj *states.Object
	key := s.change.Provider.Key
	if inst != nil {
		obj, key = inst.Current, inst.ProviderKey
		if deposed != "" {
			obj = inst.Deposed[deposed]
		}
	}
	w.mu.Unlock()
	if obj == nil {
		return nil
	}
	if r.addr.Resource.Mode == addrs.Data {
		w.storeObject(addr, deposed, nil, s.change.Provider)
		return nil
	}
	prov, diags := w.resourceProvider(r, addr, nil, key)
	if diags.HasErrors() {
		return diags
	}
	l, diags := w.upgrade(r, prov, addr, obj)
	if diags.HasErrors() {
		return diags
	}
	d := &deletion{w: w, r: r, addr: addr, deposed: deposed, prov: prov, private: s.change.Private}
	if s.change.Action.IsReplace() {
		d.private = l.obj.Private
	}
	return d.run(l)
}

// deletion is the deletion of one object.
type deletion struct {
	w       *walk
	r       *resource
	addr    addrs.AbsInstance
	deposed addrs.DeposedKey
	prov    *providerInstance
	private []byte

	abandoned bool
}

// abandoned tells whether a call was given up before its provider answered.
func (w *walk) abandoned(resp providers.ApplyResponse) bool {
	return w.ctx.Err() != nil && resp.New == cty.NilVal
}

func (d *deletion) run(l *live) tfdiags.Diagnostics {
	w, r := d.w, d.r
	var diags tfdiags.Diagnostics
	if d.deposed != "" {
		// The object may have been set aside in this very run, so its deletion was never planned.
		d.private, diags = w.planDeletion(r, d.prov, d.addr, l)
		if diags.HasErrors() {
			return diags.WithAddress(d.addr.String())
		}
	}
	what := Object{Addr: d.addr, Deposed: d.deposed}
	what.IDKey, what.IDValue = identify(l.value)
	start := w.now()
	null := cty.NullVal(r.schema.Block.ImpliedType())
	w.observe(ApplyStart{Object: what, Action: plans.Delete, Provider: d.prov.addr, Planned: null, Builtin: d.prov.addr.Config.Provider.IsBuiltin()})
	if d.deposed == "" && l.obj.Status != states.Tainted {
		diags = diags.Append(w.destroyProvisioners(r, d.addr, l.value))
	}
	if !diags.HasErrors() {
		diags = diags.Append(d.call(l, null))
	}
	w.observe(ApplyDone{Object: what, Action: plans.Delete, Failed: diags.HasErrors(), Elapsed: w.now().Sub(start), Abandoned: d.abandoned})
	return diags
}

func (d *deletion) call(l *live, null cty.Value) tfdiags.Diagnostics {
	w, r := d.w, d.r
	meta, diags := w.providerMeta(r, nil)
	if diags.HasErrors() {
		return diags
	}
	release := w.call(d.prov, "ApplyResourceChange")
	resp := d.prov.ApplyResourceChange(w.ctx, providers.ApplyRequest{
		Type: r.addr.Resource.Type, Prior: unmark(l.value), Planned: null, Config: null, Private: d.private, Meta: meta, Identity: l.identity,
	})
	release()
	diags = diags.Append(resp.Diagnostics.WithAddress(d.addr.String()))
	failed := resp.Diagnostics.HasErrors()
	d.abandoned = w.abandoned(resp)
	switch {
	case resp.New == cty.NilVal && !failed, resp.New != cty.NilVal && resp.New.IsNull() && !failed:
		w.storeObject(d.addr, d.deposed, nil, d.prov.addr)
	case resp.New == cty.NilVal || resp.New.IsNull():
		// The provider says nothing about the object: it is kept as it was.
	default:
		if errs := resp.New.Type().TestConformance(r.schema.Block.ImpliedType()); len(errs) > 0 {
			return diags.Append(providerBug("Provider produced invalid object", d.prov.addr.Config.Provider, "returned an invalid object when %s was deleted: %s.", d.addr, tfdiags.FormatError(errs[0])))
		}
		marked := markStored(r.schema.Block, cty.UnknownAsNull(resp.New), l.obj.SensitivePaths)
		obj, err := w.encodeObject(r, marked, *l.obj)
		if err != nil {
			return diags.Append(err)
		}
		obj.Private, obj.CreateBeforeDestroy = resp.Private, false
		if identity := encodeIdentity(resp.Identity); identity != nil {
			obj.Identity, obj.IdentityVersion = identity, r.schema.IdentityVersion
		}
		w.storeObject(d.addr, d.deposed, obj, d.prov.addr)
		if !failed {
			diags = diags.Append(providerBug("Provider returned invalid result object after apply", d.prov.addr.Config.Provider, "returned an object after deleting %s, so it may still exist. It is kept in the state.", d.addr))
		}
	}
	return diags
}
