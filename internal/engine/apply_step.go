package engine

import (
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// expandForSteps determines the instances of a resource before its Steps run.
func (v resourceVisit) expandForSteps() tfdiags.Diagnostics {
	w, r := v.w, v.r
	switch {
	case r.Addr.Resource.Mode == addrs.Ephemeral:
		return v.plan()
	case w.op.Phase.Destroys():
		return w.eval.values(r).fromState()
	}
	var diags tfdiags.Diagnostics
	for _, in := range w.modules.of(r.Module) {
		x, more := w.eval.values(r).expand(in)
		diags = diags.Append(more...)
		if !more.HasErrors() {
			in.resources[r.Slot] = x
			if len(x.keys) == 0 {
				w.out.declare(r.Addr.Resource.InInstance(in.addr), r.Provider.Addr) // no step declares it
			}
			diags = diags.Append(w.eval.values(r).fillBarriers(in, x)...)
		}
	}
	return diags
}

// complete sets the value of a resource after all of its Steps.
func (v resourceVisit) complete() tfdiags.Diagnostics {
	w, r := v.w, v.r
	if r.Config == nil || w.op.Phase.Destroys() || r.Addr.Resource.Mode == addrs.Ephemeral {
		return nil
	}
	var diags tfdiags.Diagnostics
	for _, in := range w.modules.of(r.Module) {
		diags = diags.Append(v.completeIn(in)...)
	}
	return diags
}

// completeIn sets the value of a resource in one module instance, unless it is already set.
func (v resourceVisit) completeIn(in *moduleInstance) tfdiags.Diagnostics {
	w, r := v.w, v.r
	if in == nil {
		return nil
	}
	x := in.resources[r.Slot]
	if x == nil || x.value != cty.NilVal {
		return nil
	}
	diags := w.eval.values(r).fillFromState(in, x)
	stands, more := w.eval.values(r).resulting(in, x)
	x.value = w.eval.values(r).whole(stands)
	return diags.Append(more...)
}

// stepVisit is a walk's visit to a Step.
type stepVisit struct {
	w *walk
	s *graph.Step
}

// run carries out one step of a planned change.
func (v stepVisit) run() (diags tfdiags.Diagnostics) {
	w, s := v.w, v.s
	defer w.trackWork(s.Part.Verb(), s.Change.Addr)(&diags)
	switch s.Part {
	case graph.StepDelete:
		return v.delete(s.Change.Deposed)
	case graph.StepDeposed:
		key := s.Change.Deposed
		if key == "" {
			key = s.Change.ReplaceDeposed
		}
		return v.delete(key)
	case graph.StepForget:
		return v.forget()
	}
	a, diags := v.change()
	if diags.HasErrors() {
		return diags
	}
	switch {
	case s.Resource.Addr.Resource.Mode == addrs.Data:
		return a.read()
	case s.Change.Action == plans.NoOp:
		return a.conditions()
	}
	return a.run()
}

// applyStep applies one planned create or update.
type applyStep struct {
	*instancePlan
	planned *plans.InstanceChange
	forced  bool
	start   time.Time
}

func (v stepVisit) change() (*applyStep, tfdiags.Diagnostics) {
	w, s := v.w, v.s
	r, addr := s.Resource, s.Change.Addr
	in := w.modules.at(r.Module, addr.Module)
	var x *expansion
	if in != nil {
		x = in.resources[r.Slot]
	}
	at, ok := x.has(addr.Key)
	if !ok {
		return nil, tfdiags.Errorf("Planned instance is gone",
			"%s was planned, but count or for_each no longer includes this instance. Create a new plan.", addr).List()
	}
	w.out.declare(r.Addr.Resource.InInstance(in.addr), r.Provider.Addr)
	p := &instancePlan{
		instance: instance{w: w, r: r, addr: addr, in: in, c: w.eval.newContext(in, x.repetition(at))}, x: x, at: at,
	}
	prov, diags := p.declaredProvider()
	p.prov = prov
	return &applyStep{instancePlan: p, planned: s.Change, forced: s.Forced}, diags
}

// conditions checks the conditions of an object that doesn't change.
func (a *applyStep) conditions() tfdiags.Diagnostics {
	w, r := a.w, a.r
	diags := w.eval.evalConditions(a.c, r.Exprs.Preconditions, a.conditionSet("Resource precondition failed"))
	if diags.HasErrors() {
		return diags
	}
	obj := w.out.current(a.addr)
	if obj == nil {
		return diags
	}
	v, err := obj.Decode(r.Schema.Block.ImpliedType())
	if err != nil {
		return diags.AppendError(err)
	}
	a.x.objs[a.at] = markStored(r.Schema.Block, v, nil)
	return diags.Append(a.postconditions(a.x.objs[a.at])...)
}

// read reads a data source that could not be read while planning.
func (a *applyStep) read() tfdiags.Diagnostics {
	w, r := a.w, a.r
	diags := w.eval.evalConditions(a.c, r.Exprs.Preconditions, a.conditionSet("Resource precondition failed"))
	if diags.HasErrors() {
		return diags
	}
	config, pvms, more := a.dataConfig()
	diags = diags.Append(more...)
	if more.HasErrors() {
		return diags
	}
	v, more := a.readData(config, pvms)
	if r.Config.Check != nil {
		diags = diags.Append(a.checkData(more, &v, config)...)
	} else {
		diags = diags.Append(more...)
		if more.HasErrors() {
			return diags
		}
	}
	a.x.objs[a.at] = markStored(r.Schema.Block, v, nil)
	if v.IsWhollyKnown() {
		if diags = diags.Append(a.storeData(v)...); diags.HasErrors() {
			return diags
		}
		w.out.observe(ObjectStored{Addr: a.addr, New: w.out.current(a.addr), Provider: a.prov.addr})
	}
	return diags.Append(a.postconditions(a.x.objs[a.at])...)
}

// run creates or updates the object.
func (a *applyStep) run() tfdiags.Diagnostics {
	w, r := a.w, a.r
	prior, diags := a.priorObject()
	if diags.HasErrors() {
		return diags
	}
	diags = diags.Append(w.eval.evalConditions(a.c, r.Exprs.Preconditions,
		a.conditionSet("Resource precondition failed"))...)
	if diags.HasErrors() {
		return diags
	}
	prop, more := a.evaluate()
	diags = diags.Append(more...)
	if more.HasErrors() {
		return diags
	}
	if !prop.config.IsWhollyKnown() {
		return diags.Append(tfdiags.Errorf("Configuration contains unknown value",
			"There are unknown values in the configuration of %s, although everything it depends on was "+
				"applied. This is a bug in tofu: please report it.", a.addr).At(r.Config.Range))
	}
	final, more := a.plan(prior, prop, replaceReasons{})
	diags = diags.Append(more...)
	if more.HasErrors() {
		return diags
	}
	final.Action = a.plannedAction(final.Action)
	diags = diags.Append(a.checkFinal(final)...)
	if diags.HasErrors() {
		return diags
	}
	switch {
	case final.Action == plans.NoOp:
		a.x.objs[a.at] = prior.value
	case final.Action == plans.Update && unmark(final.After).RawEquals(unmark(prior.value)):
		diags = diags.Append(a.storeMarks(prior, final.After)...)
	default:
		return diags.Append(a.applyChange(prior, prop, final)...)
	}
	if diags.HasErrors() {
		return diags
	}
	return diags.Append(a.postconditions(a.x.objs[a.at])...)
}

// priorObject returns the object to update. It is null for a create, including the create half of a
// replacement.
func (a *applyStep) priorObject() (*objectState, tfdiags.Diagnostics) {
	none := &objectState{value: cty.NullVal(a.r.Schema.Block.ImpliedType())}
	if a.planned.Action != plans.Update {
		return none, nil
	}
	obj := a.w.out.current(a.addr)
	if obj == nil {
		return none, nil
	}
	v, err := obj.Decode(a.r.Schema.Block.ImpliedType())
	if err != nil {
		return nil, tfdiags.FromError(fmt.Errorf("reading %s from the state: %w", a.addr, err))
	}
	l, diags := a.withIdentity(&objectState{value: markStored(a.r.Schema.Block, v, nil), obj: obj}, nil)
	return l, diags
}

// plannedAction returns the planned replacement if action is Create: the final plan is made without
// the old object, so it cannot say more.
func (a *applyStep) plannedAction(action plans.Action) plans.Action {
	if action == plans.Create && a.planned.Action.IsReplace() {
		return a.planned.Action
	}
	return action
}

// checkFinal compares the final plan with the approved one.
func (a *applyStep) checkFinal(final *plans.InstanceChange) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	planned := a.planned
	const summary = "Provider produced inconsistent final plan"
	if final.Action != planned.Action && !(planned.Action == plans.Update && final.Action == plans.NoOp) {
		return diags.Append(providerBug(summary, a.prov.addr.Config.Provider,
			"changed the planned action of %s from %s to %s.", a.addr, planned.Action,
			final.Action)).WithAddress(a.addr.String())
	}
	for _, err := range a.incompatible(planned.After, final.After) {
		diags = diags.Append(providerBug(summary, a.prov.addr.Config.Provider,
			"planned a different result for %s after all values of its configuration were known: %s.", a.addr,
			tfdiags.FormatError(err)))
	}
	return diags.WithAddress(a.addr.String())
}

// incompatible returns an error for each place where actual differs from the planned value. Errors
// quote values, so they are built from marked values, which hide sensitive ones.
func (a *applyStep) incompatible(planned, actual cty.Value) []error {
	schema := a.r.Schema.Block
	if len(objchange.AssertCompatible(schema, planned, actual)) == 0 {
		return nil
	}
	return objchange.AssertCompatible(schema, markStored(schema, planned, nil),
		markStored(schema, markLike(actual, planned), nil))
}

// markLike returns v with the marks of like, which has the same shape.
func markLike(v, like cty.Value) cty.Value {
	if v.IsMarked() || !marks.Any(like) {
		return v
	}
	_, pvms := like.UnmarkDeepWithPaths()
	return v.MarkWithPaths(pvms)
}

// record stores an object in the state and notifies the observer.
func (a *applyStep) record(obj *states.Object) { a.w.out.storeObject(a.addr, "", obj, a.prov.addr) }
