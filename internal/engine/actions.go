package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/lang/marks"
	"tofu/internal/pace"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Actions are planned with the change that triggers them, or by the visit of their node; graph/actions.go says
// which. An apply evaluates the configuration again when the action is invoked, unless a destruction
// triggers it: then the plan has the final configuration.

// actionCall is an instance of an action that is planned or invoked.
type actionCall struct {
	instance
	config cty.Value         // marked
	from   string            // what triggers the action, as in Object.From
	caller addrs.AbsInstance // the object for which a requested action is invoked that refers to caller
}

// ownObject is the object whose change triggers an action.
type ownObject struct {
	r     *reads.Resource
	key   addrs.InstanceKey
	value cty.Value
}

// planInvocations plans the actions that a change triggers, and adds them to the change. It must be called
// before the change is added to the plan: if an action can't be planned yet, the change is deferred.
func (t *instance) planInvocations(ctx context.Context, change *plans.InstanceChange) error {
	onlyMarks := change.Action == plans.Update && unmark(change.Before).RawEquals(unmark(change.After))
	if t.r.Exprs == nil || len(t.r.Exprs.ActionTriggers) == 0 || t.w.op.PreDestroy || onlyMarks {
		return nil
	}
	for _, event := range change.Action.Events() {
		c := t.callerContext(ctx, plans.CallerAt(event, change.Before, change.After))
		for i := range t.r.Exprs.ActionTriggers {
			trigger := &t.r.Exprs.ActionTriggers[i]
			if !trigger.Config.Has(event) {
				continue
			}
			fires, err := c.fires(trigger)
			if err == nil && !fires.IsKnown() && event.Destroys() {
				err = c.unknownArgument(plans.DeferredConfig, "Condition of action unknown", "The destruction of an object "+
					"triggers the action, so the condition must be known in the plan. It is known only after apply.",
					trigger.Condition, fires, fmt.Sprintf("the condition of %s of %s", event, t.addr))
			}
			if err != nil {
				return err
			}
			for j := range trigger.Config.Actions {
				if fires.IsKnown() && fires.False() {
					break
				}
				a, err := t.triggered(c, trigger, j)
				if err != nil {
					return err
				}
				inv, err := a.plan(ctx, event.Destroys())
				if err != nil {
					return err
				}
				inv.Trigger = &plans.Trigger{Caller: t.addr, Event: string(event), Block: i, Index: j,
					OnFailure: string(trigger.Config.OnFailure), Undecided: !fires.IsKnown()}
				change.Invocations = append(change.Invocations, inv)
			}
		}
	}
	return nil
}

// callerContext returns the context in which the block of the instance refers to actions. value is the
// object of the instance.
func (t *instance) callerContext(ctx context.Context, value cty.Value) *evalContext {
	c, in := t.c, t.in
	if in == nil {
		in = t.w.modules.undeclaredAt(t.r.Module, t.addr.Module)
	}
	if c == nil {
		c = t.newContext(ctx, in, undeclaredRepetition(t.addr.Key))
	}
	out := *c
	out.caller, out.own = value, &ownObject{t.r, t.addr.Key, value}
	return &out
}

var conditionArgument = &metaArgument{summary: "Invalid condition of action_trigger", want: cty.Bool,
	ephemeral: "The value is ephemeral, so it could differ between plan and apply.",
	null:      "The value is null. It must be true or false.",
	mistyped:  "The given \"condition\" is not valid: %s."}

// fires returns whether the condition of a trigger is met. The value may be unknown in a plan.
func (c *evalContext) fires(t *reads.ActionTrigger) (cty.Value, error) {
	if t.Condition == nil {
		return cty.True, nil
	}
	return c.argument(t.Condition, conditionArgument)
}

// triggered evaluates the action that a trigger names at a position of its list.
func (t *instance) triggered(c *evalContext, trigger *reads.ActionTrigger, at int) (*actionCall, error) {
	ref, key := trigger.Config.Actions[at], addrs.NoKey
	if e := trigger.Keys[at]; e != nil {
		v, err := c.eval(e, cty.DynamicPseudoType)
		if err == nil && !unmark(v).IsKnown() {
			err = c.unknownArgument(plans.DeferredConfig, "Invalid action instance key", "The key of the action's instance "+
				"is known only after apply. It must be known during the plan.", e, v, "the key of "+ref.Action.String())
		}
		if err == nil {
			var invalid error
			if key, invalid = addrs.KeyFromValue(unmark(v)); invalid != nil {
				err = c.argError("Invalid action instance key", tfdiags.Capitalize(invalid.Error())+".", e, v)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	a := t.r.Module.Actions[ref.Action]
	x, err := t.w.actions.expand(c, a)
	if err != nil {
		return nil, err
	}
	i, exists := x.find(key)
	if !exists {
		return nil, tfdiags.Errorf("Reference to missing action instance", "%s%s, which %s triggers, doesn't exist. %s",
			ref.Action, key, t.addr, x.describeKeys(ref.Action)).At(ref.Range)
	}
	out, err := t.w.newAction(c, a, x, i)
	out.mockFor(t)
	return out, err
}

// mockFor replaces the provider of an action that a mocked object triggers.
func (a *actionCall) mockFor(t *instance) {
	mocks := t.w.op.env.Mocks
	if a.prov == nil || mocks == nil || t.w.op.Phase == phase.Validate {
		return
	}
	if mock := mocks.Triggered(a.addr, t.addr, t.r.Provider.Addr); mock != nil {
		a.prov = &providerInstance{mock, a.prov.addr}
	}
}

// newAction evaluates an instance of an action. c is a context of its module instance.
func (w *walk) newAction(c *evalContext, a *reads.Resource, x *expandedKeys, i int) (*actionCall, error) {
	own := *c
	own.rep, own.reads, own.partial = x.repetition(i), nil, false
	out := &actionCall{instance: instance{w: w, r: a, in: c.in, c: &own, by: c.reader,
		addr: a.Addr.Resource.InInstance(c.in.addr).Instance(x.keys[i])}}
	var err error
	if out.prov, err = out.declaredProvider(); err != nil {
		return out, err
	}
	v, err := own.evalBody(a.Exprs.Body)
	out.config = markStored(a.Schema.Block, v, nil)
	return out, out.explained(err)
}

// actionInstances holds the instances of actions. It is safe for concurrent use.
type actionInstances struct {
	mu sync.Mutex
	of map[actionIn]*expandedAction
}

type actionIn struct {
	a  *reads.Resource
	in *moduleInstance
}

type expandedAction struct {
	once sync.Once
	x    *expandedKeys
	err  error
}

// expand determines the instances of an action in the module instance of a context, on the first call.
func (s *actionInstances) expand(c *evalContext, a *reads.Resource) (*expandedKeys, error) {
	s.mu.Lock()
	at := actionIn{a, c.in}
	if s.of == nil {
		s.of = map[actionIn]*expandedAction{}
	}
	if s.of[at] == nil {
		s.of[at] = &expandedAction{}
	}
	found := s.of[at]
	s.mu.Unlock()
	found.once.Do(func() {
		own := *c
		own.rep, own.caller, own.own = repetition{}, cty.NilVal, nil
		found.x, found.err = own.expand(a.Exprs.Repetition, a.Addr.Resource.InInstance(c.in.addr).String())
	})
	return found.x, found.err
}

// expanded returns the instances of an action in a module instance, or nil if they were not determined.
func (s *actionInstances) expanded(a *reads.Resource, in *moduleInstance) *expandedKeys {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.of[actionIn{a, in}]; found != nil {
		return found.x
	}
	return nil
}

// plan validates the configuration and lets the provider plan the action. If final is set, the apply
// doesn't evaluate the configuration again.
func (a *actionCall) plan(ctx context.Context, final bool) (*plans.Invocation, error) {
	if final {
		if err := a.checkFinal(); err != nil {
			return nil, err
		}
	}
	typ, config := a.addr.Resource.Type, unmark(a.config)
	var resp providers.PlanActionResponse
	err := a.w.callReader(ctx, a.prov, pace.Local, func(ctx context.Context) error {
		resp = callWithSlot(a.w.calls, a.prov, "PlanAction", a.addr, func() providers.PlanActionResponse {
			if diags := a.prov.ValidateAction(ctx, typ, config); diags.HasErrors() {
				return providers.PlanActionResponse{Diagnostics: diags}
			}
			return a.prov.PlanAction(ctx, typ, config)
		})
		return resp.Diagnostics.Err()
	})
	switch {
	case err == errHalted:
		return nil, err
	case a.report(resp.Diagnostics) != nil:
		return nil, a.explained(resp.Diagnostics.Err())
	case resp.Deferred != "":
		return nil, deferred(a.prov, a.addr, plans.DeferReason(resp.Deferred))
	}
	return &plans.Invocation{Addr: a.addr, Provider: a.prov.addr, Config: marks.AsUnknown(a.config, marks.Ephemeral)}, nil
}

// checkFinal returns an error if the configuration can't be used in the apply as it is.
func (a *actionCall) checkFinal() error {
	at := a.r.Config.Range
	switch {
	case marks.Contains(a.config, marks.Ephemeral):
		return tfdiags.Errorf("Ephemeral value in action", "The destruction of an object triggers %s, so its configuration is "+
			"stored in the plan. Don't use ephemeral values in it.", a.addr).At(at)
	case !unmark(a.config).IsWhollyKnown():
		d := tfdiags.Errorf("Configuration of action unknown", "The destruction of an object triggers %s, so its "+
			"configuration must be known in the plan. It has values that are known only after apply. Use \"caller\" for "+
			"the object that is destroyed.", a.addr).At(at)
		d.Extra = notYet{why: plans.DeferredConfig, chain: []plans.DeferralStep{{What: "the configuration of " +
			a.addr.String(), Where: tfdiags.Place(at)}}}
		return d
	}
	return nil
}

// invokeActions invokes the actions that a planned change triggers at an event, until one fails and is not to
// be ignored. It returns the trigger of that one. value is the object of the instance.
func (t *instance) invokeActions(
	ctx context.Context, planned *plans.InstanceChange, event configs.ActionEvent, value cty.Value,
) (failed *plans.Trigger, err error) {
	for _, inv := range planned.Invocations {
		if inv.Trigger.Event != string(event) {
			continue
		}
		err := t.invoke(ctx, inv, value)
		switch {
		case err == nil:
		case err == errHalted || inv.Trigger.OnFailure != string(configs.Continue) || t.w.out.stopped():
			return inv.Trigger, err
		default:
			for _, d := range tfdiags.FromError(err) {
				d.Severity = tfdiags.Warning
				t.w.out.warn(d)
			}
		}
	}
	return nil, nil
}

// invoke invokes an action that a change triggers.
func (t *instance) invoke(ctx context.Context, inv *plans.Invocation, value cty.Value) error {
	on := inv.Trigger
	a := &actionCall{instance: instance{w: t.w, r: t.r.Module.Actions[inv.Addr.Resource], addr: inv.Addr, by: t.by},
		config: inv.Config}
	var err error
	if configs.ActionEvent(on.Event).Destroys() {
		a.prov, err = a.providerAt(ctx, inv.Provider.Key)
		a.mockFor(t)
	} else {
		c, trigger := t.callerContext(ctx, value), &t.r.Exprs.ActionTriggers[on.Block]
		fires, invalid := c.fires(trigger)
		if invalid == nil && !fires.IsKnown() {
			invalid = c.argError(conditionArgument.summary, "The value is not known when the action would be invoked.",
				trigger.Condition, fires)
		}
		if invalid != nil || on.Undecided && fires.False() {
			return invalid
		}
		if a, err = t.triggered(c, trigger, on.Index); err == nil {
			err = a.checkPlanned(inv)
		}
	}
	if err != nil {
		return err
	}
	a.from = fmt.Sprintf("%s of %s", on.Event, on.Caller)
	return a.invoke(ctx)
}

// checkPlanned compares the final configuration with the planned one.
func (a *actionCall) checkPlanned(inv *plans.Invocation) error {
	config := unmark(a.config)
	switch {
	case !config.IsWhollyKnown():
		return tfdiags.Errorf("Configuration of action unknown", "The configuration of %s has values that are not known when "+
			"it is invoked. An action that is triggered before an object is created can't use what is known only "+
			"afterwards.", a.addr).At(a.r.Config.Range)
	case a.addr != inv.Addr || !objchange.Possible(unmark(inv.Config), config):
		return tfdiags.Errorf("Action changed since the plan", "The configuration of %s is not the planned one: probably a "+
			"file or an environment variable has changed. Create a new plan.", inv.Addr).At(a.r.Config.Range)
	}
	return nil
}

// invoke has the provider carry out the action.
func (a *actionCall) invoke(ctx context.Context) error {
	w, what := a.w, Object{Addr: a.addr, From: a.from}
	defer w.calls.acquire(a.prov, pace.Write)()
	if w.halt.isSet() {
		return errHalted
	}
	start := w.op.env.now()
	shown := marks.AsUnknown(a.config, marks.Ephemeral)
	err := w.out.start(&ApplyStart{Object: what, Action: plans.Invoke, Provider: a.prov.addr, Planned: unmark(shown),
		Sensitive: sensitivePaths(shown), Builtin: a.prov.addr.Config.Provider.IsBuiltin()})
	if err != nil {
		return err
	}
	progress := func(text string) { w.out.observe(ActionProgress{what, text}) }
	if cause := w.op.hides(a.config); cause != "" {
		progress = func(string) {}
	}
	resp := callWithSlot(w.calls, a.prov, "InvokeAction", a.addr, func() providers.InvokeResponse {
		return a.prov.InvokeAction(ctx, a.addr.Resource.Type, unmark(a.config), progress)
	})
	err = a.report(resp.Diagnostics)
	if a.from != "" {
		how := "The action was triggered by %s."
		if a.caller != (addrs.AbsInstance{}) {
			how = "The action was invoked for %s."
		}
		err = withOutcome(err, how, a.from)
	}
	if resp.Unanswered {
		err = withOutcome(err, "It is not known whether %s was carried out. It is not repeated: find out, and if it was not, "+
			"invoke it with -invoke='%[1]s'.", a.addr)
	}
	w.out.observe(ApplyDone{Object: what, Action: plans.Invoke, Failed: err != nil, Err: err,
		Elapsed: w.op.env.now().Sub(start), InDoubt: resp.Unanswered})
	return err
}

// validateAction validates an action with unknown values of count, each and caller.
func (w *walk) validateAction(ctx context.Context, c *evalContext, a *reads.Resource) error {
	v := resourceVisit{w, a, a.Node}
	if err := tfdiags.Join(v.validateRepetition(ctx, c.in), a.Exprs.SelfReferences.Err()); err != nil {
		return err
	}
	c.rep, c.caller = unknownRepetition(a.Exprs.Repetition), cty.DynamicVal
	config, err := c.evalBody(a.Exprs.Body)
	if err != nil {
		return err
	}
	p := validation{&instancePlan{instance: instance{w: w, r: a, in: c.in, c: c,
		addr: a.Addr.Resource.InInstance(c.in.addr).Instance(addrs.NoKey)}}}
	if a.ProviderKey != nil && len(a.Provider.Instances) == 0 {
		return nil
	}
	if p.prov, err = p.providerAt(ctx, p.anyKey()); err != nil {
		return err
	}
	return p.report(p.prov.ValidateAction(ctx, a.Addr.Resource.Type, unmark(config)))
}

// validateTriggers checks the conditions and keys of action_trigger blocks.
func (p validation) validateTriggers(ctx context.Context, self cty.Value) error {
	c := p.callerContext(ctx, self)
	c.own = nil
	var errs tfdiags.Diagnostics
	for i := range p.r.Exprs.ActionTriggers {
		t := &p.r.Exprs.ActionTriggers[i]
		_, err := c.fires(t)
		errs = errs.AppendError(err)
		for _, e := range t.Keys {
			if e != nil {
				_, err := c.eval(e, cty.DynamicPseudoType)
				errs = errs.AppendError(err)
			}
		}
	}
	return errs.Err()
}

// read returns the value of the resource whose change triggers the action that is evaluated. An expression
// can read only the instance that changes: of is nil unless all its references select instances.
func (own *ownObject) read(c *evalContext, of lang.Instances) (cty.Value, error) {
	if !own.r.Exprs.Repetition.Repeats() {
		return own.value, nil
	}
	selected := c.selected(reads.KeyedRead{Of: own.r, Refs: of})
	for _, read := range selected {
		if of == nil || read.Key != addrs.NoKey && read.Key != own.key {
			selected = nil
		}
	}
	if of == nil || selected == nil {
		return cty.DynamicVal, tfdiags.Errorf("Invalid reference in action", "The action is triggered by a change of %s%s, so "+
			"it can read no other instances of the resource. Use \"caller\" for the object that changes.",
			own.r.Addr.Resource, own.key)
	}
	return cty.ObjectVal(map[string]cty.Value{keyName(own.key): own.value}), nil
}
