package engine

import (
	"context"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// An action that is requested by its address is invoked without a change of an object. If it refers to
// caller, it is invoked for each object that would trigger it. If no block triggers it, caller is null.

// visitAction validates, plans or invokes an action that no object triggers.
func (w *walk) visitAction(ctx context.Context, n *reads.Node) error {
	a := n.Object.(*reads.Resource)
	e := w.eval.visiting(n)
	modules := e.modulesOf(a.Module)
	var errs tfdiags.Diagnostics
	for _, in := range modules {
		c := e.newContext(ctx, in, repetition{})
		if w.op.Phase == phase.Validate {
			errs = errs.AppendError(w.validateAction(ctx, c, a))
			continue
		}
		calls, err := w.requestedCalls(c, a)
		if w.op.Phase.Applies() && err == nil {
			calls, err = w.plannedCalls(in, a, calls)
		}
		errs = errs.AppendError(err)
		errs = errs.AppendError(w.each(len(calls), func(i int) error { return calls[i].carryOut(ctx) }))
	}
	return errs.Err()
}

// requestedCall is an instance of an action, and the object for which it is invoked if it refers to caller.
type requestedCall struct{ action, caller addrs.AbsInstance }

// invoked has the requested invocations of a plan.
type invoked struct {
	of      map[addrs.AbsResource][]*plans.Invocation
	calls   map[requestedCall]bool
	callers map[addrs.AbsInstance]bool
}

func newInvoked(list []*plans.Invocation) *invoked {
	out := &invoked{map[addrs.AbsResource][]*plans.Invocation{}, map[requestedCall]bool{}, map[addrs.AbsInstance]bool{}}
	for _, inv := range list {
		action := inv.Addr.Abs()
		out.of[action] = append(out.of[action], inv)
		out.calls[requestedCall{inv.Addr, inv.Caller}] = true
		out.callers[inv.Caller] = true
	}
	return out
}

// requests reports whether an instance of an action is invoked for an object.
func (o *operation) requests(action, caller addrs.AbsInstance) bool {
	if o.invoked != nil {
		return o.invoked.calls[requestedCall{action, caller}]
	}
	return covered(o.Invoke, action)
}

// calls reports whether actions are invoked for an object.
func (o *operation) calls(caller addrs.AbsInstance) bool {
	if o.invoked != nil {
		return o.invoked.callers[caller]
	}
	return len(o.callers) == 0 || covered(o.callers, caller)
}

func covered(by []addrs.Target, addr addrs.AbsInstance) bool {
	return slices.ContainsFunc(by, func(t addrs.Target) bool { return t.ContainsInstance(addr) })
}

// requestedCalls evaluates the requested instances of an action in the module instance of a context.
func (w *walk) requestedCalls(c *evalContext, a *reads.Resource) ([]*actionCall, error) {
	var out []*actionCall
	var errs tfdiags.Diagnostics
	if len(a.Callers) > 0 {
		for _, r := range a.Callers {
			calls, err := w.callsFor(c, a, r)
			out, errs = append(out, calls...), errs.AppendError(err)
		}
		return out, errs.Err()
	}
	x, err := w.actions.expand(c, a)
	if err != nil {
		return nil, err
	}
	own := *c
	own.caller = cty.NullVal(cty.DynamicPseudoType)
	for i, key := range x.keys {
		if w.op.requests(a.Addr.Resource.InInstance(c.in.addr).Instance(key), addrs.AbsInstance{}) {
			call, err := w.newAction(&own, a, x, i)
			out, errs = append(out, call), errs.AppendError(err)
		}
	}
	return out, errs.Err()
}

// callsFor evaluates the requested instances of an action that the existing objects of a resource trigger, each
// once for an object.
func (w *walk) callsFor(c *evalContext, a, r *reads.Resource) ([]*actionCall, error) {
	x, err := c.e.expansionIn(r, c.in)
	if err == nil && c.in.decided != nil {
		err = c.e.values(r).complete(c.in)
	}
	if err != nil || x == nil {
		return nil, err
	}
	var out []*actionCall
	var errs tfdiags.Diagnostics
	for i, key := range x.keys {
		t := &instance{w: w, r: r, in: c.in, by: c.reader, addr: r.Addr.Resource.InInstance(c.in.addr).Instance(key)}
		if obj := x.objs[i]; obj == cty.NilVal || obj.IsNull() || !w.op.calls(t.addr) {
			continue
		}
		t.c = t.newContext(c.ctx, c.in, x.repetition(i))
		own := t.callerContext(c.ctx, x.objs[i])
		called := map[addrs.InstanceKey]bool{}
		for n := range r.Exprs.ActionTriggers {
			trigger := &r.Exprs.ActionTriggers[n]
			for j, ref := range trigger.Config.Actions {
				if ref.Action != a.Addr.Resource {
					continue
				}
				call, err := t.triggered(own, trigger, j)
				if err == nil && (!w.op.requests(call.addr, t.addr) || called[call.addr.Key]) {
					continue
				}
				if errs = errs.AppendError(err); err == nil {
					called[call.addr.Key] = true
					call.caller, call.from = t.addr, t.addr.String()
					out = append(out, call)
				}
			}
		}
	}
	return out, errs.Err()
}

// plannedCalls returns the calls that the plan has in a module instance. It is an error if one is missing or differs.
func (w *walk) plannedCalls(in *moduleInstance, a *reads.Resource, calls []*actionCall) ([]*actionCall, error) {
	var out []*actionCall
	var errs tfdiags.Diagnostics
	at := make(map[requestedCall]*actionCall, len(calls))
	for _, c := range calls {
		at[requestedCall{c.addr, c.caller}] = c
	}
	for _, inv := range w.op.invoked.of[a.Addr.Resource.InInstance(in.addr)] {
		call := at[requestedCall{inv.Addr, inv.Caller}]
		if call == nil {
			errs = errs.Append(tfdiags.Errorf("Action changed since the plan", "%s can't be invoked as planned. Create a new plan.",
				inv.Addr).At(a.Config.Range))
			continue
		}
		out, errs = append(out, call), errs.AppendError(call.checkPlanned(inv))
	}
	return out, errs.Err()
}

// carryOut plans or invokes a requested action.
func (a *actionCall) carryOut(ctx context.Context) error {
	w := a.w
	if w.op.Phase.Applies() {
		return a.invoke(ctx)
	}
	if !unmark(marks.AsUnknown(a.config, marks.Ephemeral)).IsWhollyKnown() && !marks.Contains(a.config, marks.Ephemeral) {
		return tfdiags.Errorf("Configuration of action unknown", "The configuration of %s has values that are known only "+
			"after an apply. Apply first, and then invoke the action.", a.addr).At(a.r.Config.Range)
	}
	inv, err := a.plan(ctx, false)
	if err == nil {
		inv.Caller = a.caller
		w.out.mu.Lock()
		w.out.changes.Invoked = append(w.out.changes.Invoked, inv)
		w.out.mu.Unlock()
	}
	return err
}

// checkInvoke checks the addresses of actions to invoke.
func (o *PlanOptions) checkInvoke(root *configs.Config) error {
	if len(o.Invoke) == 0 {
		return nil
	}
	if o.Mode != plans.Normal || len(o.Excludes)+len(o.ForceReplace) > 0 || o.Past != nil {
		return tfdiags.Errorf("Incompatible plan options", "-invoke changes no objects, so it can't be used together with "+
			"-destroy, -refresh-only, -exclude, -replace or -against.")
	}
	var errs tfdiags.Diagnostics
	for _, t := range o.Invoke {
		errs = errs.AppendError(root.FindAction(t))
	}
	return errs.Err()
}

// checkInvoked returns an error for each requested address for which no action is invoked, and if -target has no
// effect on it. It must be called only if there are no other errors.
func (f finisher) checkInvoked() error {
	var errs tfdiags.Diagnostics
	for _, t := range f.w.op.Invoke {
		a, some := f.w.graph.Modules[t.Module.Module()].Actions[t.Resource], len(f.w.op.callers) > 0
		missing := (&unmatched{w: f.w}).undeclared(f.w.modules.of(f.w.graph.Root)[0], t.Module.Steps(), t)
		var d tfdiags.Diagnostic
		switch {
		case missing != "":
			d = tfdiags.Errorf("Action doesn't exist", "There is no %s. %s", t, missing)
		case some && len(a.Callers) == 0:
			d = tfdiags.Errorf("Incompatible plan options", "With -invoke, -target selects the objects for which actions are "+
				"invoked that refer to caller. %s doesn't, or no action_trigger block names it.", t)
		case slices.ContainsFunc(f.w.out.changes.Invoked, func(inv *plans.Invocation) bool { return t.ContainsInstance(inv.Addr) }):
			continue
		case some:
			d = tfdiags.Errorf("Action without a caller", "%s refers to caller, and -target selects no object that exists and "+
				"whose changes trigger it.", t)
		case len(a.Callers) > 0:
			d = tfdiags.Errorf("Action without a caller", "%s refers to caller, and no object exists whose changes trigger it.", t)
		default:
			d = tfdiags.Errorf("Action doesn't exist", "%s has no instances.", t)
		}
		errs = errs.Append(d.At(a.Config.Range))
	}
	return errs.Err()
}
