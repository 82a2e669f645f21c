package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/engine/phase"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Apply executes a plan and returns the resulting state, which holds all completed changes even if
// there are errors.
func Apply(
	ctx context.Context, cfg *configs.Config, plan *plans.Plan, env *Env, opts *ApplyOptions,
) (*states.State, error) {
	if opts == nil {
		opts = &ApplyOptions{}
	}
	if plan.Errored {
		return plan.Prior, tfdiags.Errorf("Cannot apply failed plan",
			"Planning reported errors, so this plan can't be applied. Fix the errors and plan again.")
	}
	if err := generatedChanges(plan); err != nil {
		return plan.Prior, err
	}
	defer env.Timings.Phase("apply")()
	op := applyOperation(cfg, plan, env, opts)
	if err := op.checkVariables(opts); err != nil {
		return plan.Prior, err
	}
	w, err := newWalk(ctx, op, plan.Prior)
	if err != nil {
		return plan.Prior, err
	}
	if len(plan.UnknownVariables())+len(plan.EphemeralVariables) > 0 { // the plan couldn't check these values
		if err := newEarlyValues(op, w.graph).validateVariables(); err != nil {
			return plan.Prior, err
		}
	}
	return w.apply(ctx, plan, opts)
}

// apply walks the graph of the plan's changes and returns the resulting state.
func (w *walk) apply(ctx context.Context, plan *plans.Plan, opts *ApplyOptions) (*states.State, error) {
	w.out.changes = plan.Changes
	w.observeImports()
	w.waiters = &waiters{graph: w.graph, lost: make(map[dag.ID]bool)}
	w.out.observe(Ordered{w.waiters.of, w.waiters.lostSteps})
	walkErr := w.run(ctx)
	err := tfdiags.Join(walkErr, w.guard("", func() error {
		finisher{w}.finishState(plan)
		return nil
	}))
	if len(plan.Targets)+len(plan.Excludes) > 0 {
		w.out.warn(tfdiags.Warningf("Applied changes may be incomplete",
			"The plan was made with -target or -exclude, so it may not cover all changes. Run a plan without "+
				"these options to see the remaining changes."))
	}
	if plan.Mode == plans.Destroy && w.out.forgotten > 0 && !opts.SuppressForgetErrors && walkErr == nil {
		err = tfdiags.Join(err, tfdiags.Errorf("Destroy was successful but left behind forgotten instances",
			"Some objects (%d) were removed from the state and not destroyed, as configured. They still exist, but "+
				"are no longer managed. To accept that, use -suppress-forget-errors.", w.out.forgotten))
	}
	return w.out.state, err
}

// applyOperation returns the operation that applies a plan.
func applyOperation(cfg *configs.Config, plan *plans.Plan, env *Env, opts *ApplyOptions) *operation {
	op := newOperation(phase.Apply, cfg, plan.Prior, env)
	op.Plan, op.Mode, op.Targets, op.Excludes = plan, plan.Mode, plan.Targets, plan.Excludes
	op.invoked = newInvoked(plan.Changes.Invoked)
	for action := range op.invoked.of {
		op.Invoke = append(op.Invoke, addrs.Target{Module: action.Module, Resource: action.Resource})
	}
	op.setDeferred(plan)
	op.timestamp, op.variables = plan.Timestamp, map[string]Variable{}
	if plan.Mode == plans.Destroy {
		op.Phase = phase.Destroy
	}
	for name, v := range plan.Variables {
		op.variables[name] = Variable{Value: v}
	}
	if opts != nil {
		op.inspect(opts.Inspect)
		op.showSensitive = opts.ShowSensitive
		for _, name := range plan.NotStored() {
			if v, ok := opts.Variables[name]; ok {
				op.variables[name] = v
			}
		}
	}
	return op
}

// checkVariables compares the variables given for the apply with those stored in the plan. It also
// reports variables that must be set again for the apply but aren't.
func (o *operation) checkVariables(opts *ApplyOptions) error {
	var errs tfdiags.Diagnostics
	for _, name := range slices.Sorted(maps.Keys(opts.Variables)) {
		given := opts.Variables[name]
		v := o.Config.Module.Variables[name]
		if v == nil || v.Ephemeral.Value {
			continue
		}
		planned := o.Plan.Variables[name] // cty.NilVal means the default
		was, _ := v.Final(planned)
		now, err := v.Final(given.Value)
		switch {
		case err != nil && was.IsWhollyKnown():
			errs = errs.Append(tfdiags.Errorf("Invalid value for input variable",
				"The value given by %s is not suitable for var.%s: %s.", given.source(), name, tfdiags.FormatError(err)))
		case err != nil: // the evaluation of the variable reports it
		case unmark(now).RawEquals(unmark(was)),
			!was.IsWhollyKnown() && objchange.Possible(unmark(was), unmark(now)):
		default:
			errs = errs.Append(o.contradiction(v, given, unmark(was), unmark(now)))
		}
	}
	for _, name := range o.Plan.UnknownVariables() {
		if _, again := opts.Variables[name]; !again {
			errs = errs.Append(tfdiags.Errorf("No value for required variable",
				"The plan was made while the value of %q was not known (-var-unknown). It must be set to apply the "+
					"plan: -var %s=VALUE.", name, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Plan.EphemeralVariables)) {
		v := o.Config.Module.Variables[name]
		_, again := opts.Variables[name]
		if v != nil && !again && (v.Required() || o.Plan.EphemeralVariables[name]) {
			errs = errs.Append(tfdiags.Errorf("No value for required variable",
				"The variable %q is ephemeral. Its value is not stored in the plan, so it must be set again "+
					"to apply the plan.", name).At(v.Range))
		}
	}
	return errs.Err()
}

// contradiction returns the error about a variable whose value differs from the one in the plan.
func (o *operation) contradiction(v *configs.Variable, given Variable, was, now cty.Value) tfdiags.Diagnostic {
	from := "the default"
	if _, ok := o.Plan.Variables[v.Name]; ok {
		from = "the value from " + cmp.Or(o.Plan.VariableSources[v.Name], "the plan")
	}
	text := fmt.Sprintf("%s sets var.%s to %s, and the plan was made with %s, %s.", tfdiags.Capitalize(given.source()),
		v.Name, inputText(now), from, inputText(was))
	if v.Sensitive.Value {
		text = fmt.Sprintf("%s sets var.%s to another value than %s, with which the plan was made.",
			tfdiags.Capitalize(given.source()), v.Name, from)
	}
	d := tfdiags.Errorf("Mismatch between input and plan variable value",
		"%s A saved plan is applied with the values that it was made with. Do not set the variable, or create a new plan.",
		text)
	d.Subject = given.Range
	return d
}

// source returns the source of a value, for messages.
func (v Variable) source() string { return cmp.Or(v.From, "the caller") }

// inputText returns the value of a variable as JSON, shortened. If the value is not wholly known,
// the plan was made with -var-unknown.
func inputText(v cty.Value) string {
	const most = 100
	if !v.IsWhollyKnown() {
		return "a value that was not known"
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil { // a capsule can't be a variable
		return "a value that can't be shown"
	}
	if short := []rune(string(text)); len(short) > most {
		return string(short[:most]) + "…"
	}
	return string(text)
}

// observeImports tells the observer about the objects that the plan imports. The plan's state
// already has these objects, but without their dependencies, so observeImports stores them again
// with their dependencies.
func (w *walk) observeImports() {
	for _, c := range w.op.Plan.Changes.Instances {
		if c.Importing == nil {
			continue
		}
		obj, r := w.out.state.Current(c.Addr), w.graph.Resource(c.Addr.Config())
		if obj == nil || r == nil {
			continue
		}
		if obj.Dependencies == nil && r.Recorded.Dependencies != nil {
			obj = changed(obj, func(o *states.Object) { o.Dependencies = r.Recorded.Dependencies })
		}
		w.out.storeObject(c.Addr, "", obj, c.Provider)
	}
}

// finishState completes the state after an apply: it removes undeclared outputs and, if nothing
// failed, empty resources, repairs stored dependencies, and stores the results of checks.
func (f finisher) finishState(plan *plans.Plan) {
	w := f.w
	for _, o := range plan.Changes.Outputs {
		if o.Action == plans.Delete {
			w.out.state.SetOutput(o.Name, nil)
		}
	}
	if len(w.out.errs) == 0 {
		w.out.state.Prune()
	}
	f.repairDependencies(plan.Prior)
	f.keepChecks(plan)
	w.out.state.Checks = w.out.checks
}

// keepChecks adds the results of checks that the plan evaluated but the apply did not. Their status
// becomes unknown. Only the results of resource conditions in a refresh-only plan are kept, because
// they are final.
func (f finisher) keepChecks(plan *plans.Plan) {
	w := f.w
	for _, planned := range plan.Checks.Sorted() {
		block := w.out.checks.Declare(planned.Kind, planned.Config)
		if planned.Status == checks.Pass && len(planned.Objects)+len(block.Objects) == 0 {
			block.Summarize() // the plan found no objects to check
		}
		for _, o := range planned.SortedObjects() {
			switch {
			case plan.Mode == plans.RefreshOnly && planned.Kind == checks.KindResource:
				block.Set(o.Addr, o.Status, o.Messages)
			case block.Objects[o.Addr] == nil:
				block.Set(o.Addr, checks.Unknown, nil)
			}
		}
	}
}
