package engine

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// stepVisit is a walk's visit to a Step of the graph.
type stepVisit struct {
	w *walk
	s *reads.Step
}

// run carries out one step of a planned change.
func (v stepVisit) run(ctx context.Context) (err error) {
	w, s := v.w, v.s
	defer w.trackWork(s.Verb(), s.Change.Addr)(&err)
	switch s.Part {
	case reads.StepDelete:
		return v.delete(ctx, s.Change.Deposed)
	case reads.StepDeposed:
		key := s.Change.Deposed
		if key == "" {
			key = s.Change.ReplaceDeposed
		}
		return v.delete(ctx, key)
	case reads.StepForget:
		v.forget()
		return nil
	}
	defer func() {
		w.eval.unfinished.finish(s.Change.Addr, err)
		if err != nil && reported(err) == nil { // as if the step had waited for what has failed
			w.out.undeclare(s.Change.Addr.Abs())
		}
	}()
	a, err := v.change(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			a.undecided()
		}
	}()
	switch {
	case s.Opens():
		return a.planEphemeral(ctx, s.Node)
	case s.Resource.Addr.Resource.Mode == addrs.Data:
		return a.read(ctx)
	case s.Change.Action == plans.NoOp:
		return a.conditions()
	}
	return a.run(ctx)
}

// applyStep applies one planned create or update.
type applyStep struct {
	*instancePlan
	planned *plans.InstanceChange
	forced  bool
}

func (v stepVisit) change(ctx context.Context) (*applyStep, error) {
	w, s := v.w, v.s
	r, addr := s.Resource, s.Change.Addr
	in, err := w.eval.moduleIn(r.Module, addr.Module)
	if err != nil {
		return nil, err
	}
	var x *expansion
	if in != nil {
		if x, err = w.eval.expansionIn(r, in); err != nil {
			return nil, err
		}
	}
	at, ok := x.has(addr.Key)
	if !ok {
		return nil, tfdiags.Errorf("Planned instance is gone",
			"%s was planned, but count, for_each or enabled of the resource or of a module no longer includes this "+
				"instance. Create a new plan.", addr)
	}
	if !s.Opens() {
		w.out.declare(r.Addr.Resource.InInstance(in.addr), r.Provider.Addr)
	}
	by := readerAt(s.Node)
	c := w.eval.newContext(ctx, in, x.repetition(at))
	c.reader = by
	c.setEachValue(r.Each, addr.Key)
	c, err = c.withReads(r, s.Change)
	if err != nil {
		return nil, err
	}
	p := &instancePlan{instance: instance{w: w, r: r, addr: addr, in: in, c: c, by: by}, x: x, at: at,
		validated: s.Change.Validated}
	p.prov, err = p.declaredProvider()
	if err != nil {
		return nil, err
	}
	if s.Change.Restored != cty.NilVal {
		p.restore = &restoration{planned: s.Change}
	}
	return &applyStep{instancePlan: p, planned: s.Change, forced: s.Forced}, nil
}

// conditions checks the conditions of an object that doesn't change.
func (a *applyStep) conditions() error {
	w, r := a.w, a.r
	if err := a.preconditions(); err != nil {
		return err
	}
	obj := w.out.current(a.addr)
	if obj == nil {
		return nil
	}
	v, err := obj.Decode(r.Schema.Block.ImpliedType())
	if err != nil {
		return err
	}
	a.x.objs[a.at] = markStored(r.Schema.Block, v, nil)
	return a.postconditions(a.x.objs[a.at])
}

// read reads a data source that could not be read while planning.
func (a *applyStep) read(ctx context.Context) error {
	w, r, d := a.w, a.r, dataPlan{a.instancePlan}
	if err := a.preconditions(); err != nil {
		return err
	}
	config, pvms, err := d.dataConfig()
	if err != nil {
		return err
	}
	v, _, err := d.readData(ctx, config, pvms)
	if r.Config.Check != nil {
		v, err = d.checkData(v, err, config)
	}
	if err != nil {
		return err
	}
	a.x.objs[a.at] = markStored(r.Schema.Block, v, nil)
	switch {
	case v.IsNull():
		w.out.storeObject(a.addr, "", nil, a.prov.addr)
	case v.IsWhollyKnown():
		if err := d.storeData(v); err != nil {
			return err
		}
		w.out.observe(ObjectStored{Addr: a.addr, New: w.out.current(a.addr), Provider: a.prov.addr})
	}
	return a.postconditions(a.x.objs[a.at])
}

// run creates or updates the object.
func (a *applyStep) run(ctx context.Context) error {
	r := a.r
	prior, err := a.priorObject(ctx)
	if err != nil {
		return err
	}
	if err := a.preconditions(); err != nil {
		return err
	}
	prop, err := a.evaluate(ctx)
	if err != nil {
		return err
	}
	if !prop.config.IsWhollyKnown() {
		return tfdiags.Errorf("Configuration contains unknown value",
			"There are unknown values in the configuration of %s, although everything it depends on was "+
				"applied. This is a bug in tofu: please report it.", a.addr).At(r.Config.Range)
	}
	final, err := a.plan(ctx, prior, prop, replaceReasons{})
	if err != nil {
		return err
	}
	final.Action = a.plannedAction(final.Action)
	if err := a.checkFinal(final); err != nil {
		return err
	}
	switch {
	case final.Action == plans.NoOp:
		a.x.objs[a.at] = prior.value
		a.w.out.observe(ApplyUnneeded{Object{Addr: a.addr}})
	case final.Action == plans.Update && unmark(final.After).RawEquals(unmark(prior.value)):
		if err := a.storeMarks(prior, final.After); err != nil {
			return err
		}
	default:
		return a.withActions(ctx, prior, final, func() error { return a.applyChange(ctx, prior, prop, final) })
	}
	return a.postconditions(a.x.objs[a.at])
}

// priorObject returns the object to update. Its value is null for a create, including the create
// half of a replacement.
func (a *applyStep) priorObject(ctx context.Context) (*objectState, error) {
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
		return nil, fmt.Errorf("reading %s from the state: %w", a.addr, err)
	}
	return a.withIdentity(ctx, &objectState{value: markStored(a.r.Schema.Block, v, nil), obj: obj})
}

// plannedAction returns the action of the final plan for the comparison with the approved plan. The
// final plan of a replacement is created without the old object, so its action is Create. For this
// case, plannedAction returns the planned kind of replacement.
func (a *applyStep) plannedAction(action plans.Action) plans.Action {
	if action == plans.Create && a.planned.Action.IsReplace() {
		return a.planned.Action
	}
	return action
}

// checkFinal compares the final plan with the approved one.
func (a *applyStep) checkFinal(final *plans.InstanceChange) error {
	planned := a.planned
	const summary = "Provider produced inconsistent final plan"
	var errs tfdiags.Diagnostics
	if final.Action != planned.Action && !(planned.Action == plans.Update && final.Action == plans.NoOp) {
		errs = providerBug(summary, a.prov.addr.Config.Provider,
			"changed the planned action of %s from %s to %s.", a.addr, planned.Action, final.Action).List()
	} else {
		for _, err := range a.incompatible(planned.After, final.After) {
			errs = errs.Append(providerBug(summary, a.prov.addr.Config.Provider,
				"planned a different result for %s after all values of its configuration were known: %s.", a.addr,
				tfdiags.FormatError(err)))
		}
	}
	return errs.WithAddress(a.addr.String()).Err()
}

// incompatible returns an error for each part of actual that differs from the planned value. The
// errors quote values. They are built from marked values, so they don't show sensitive ones.
func (a *applyStep) incompatible(planned, actual cty.Value) []error {
	schema := a.r.Schema.Block
	if len(objchange.AssertCompatible(schema, planned, actual)) == 0 {
		return nil
	}
	return objchange.AssertCompatible(schema, markStored(schema, planned, nil),
		markStored(schema, markLike(actual, planned), nil))
}

// markLike returns v with the marks of like, which has the same shape. If v as a whole is already
// marked, it returns v unchanged.
func markLike(v, like cty.Value) cty.Value {
	if v.IsMarked() || !marks.Any(like) {
		return v
	}
	_, pvms := like.UnmarkDeepWithPaths()
	return v.MarkWithPaths(pvms)
}

// record stores the instance's current object in the state and notifies the observer.
func (a *applyStep) record(obj *states.Object) { a.w.out.storeObject(a.addr, "", obj, a.prov.addr) }
