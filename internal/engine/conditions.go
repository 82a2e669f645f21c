package engine

import (
	"context"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// declareChecks declares every block with conditions, so the results also list blocks whose objects
// are never reached. In a destroy run, it also records that the conditions of root outputs are not
// checked.
func (w *walk) declareChecks() {
	if !w.op.Phase.Checks() && !w.op.Phase.Destroys() {
		return
	}
	for _, m := range w.graph.Modules {
		for _, c := range m.Checks {
			w.out.checks.Declare(checks.KindCheck, reads.InModule(m.Path, "check."+c.Config.Name))
		}
	}
	for _, v := range w.graph.Values {
		if len(v.Conditions) > 0 {
			block := w.out.checks.Declare(checkKind(v), v.Node.Name)
			if w.op.Phase.Destroys() && v.Kind == reads.Output && v.Module == w.graph.Root {
				block.Set(v.Node.Name, checks.Unknown, nil)
			}
		}
	}
	for _, r := range w.graph.Resources {
		if r.HasConditions() {
			w.out.checks.Declare(checks.KindResource, r.Addr.String())
		}
	}
}

func checkKind(v *reads.Value) checks.Kind {
	if v.Kind == reads.Variable {
		return checks.KindVariable
	}
	return checks.KindOutput
}

// conditionSet says how the results of an object's conditions are reported.
type conditionSet struct {
	kind     checks.Kind
	config   string     // address of the block
	object   string     // address of the instance
	failed   string     // summary of the error if a condition fails
	warnOnly bool       // failures are warnings
	at       *hcl.Range // where failures are reported; nil means at the condition
	origin   string     // sentence about the source of a variable's value
}

// eval evaluates all conditions of an object and records the results. Failures are
// errors, or warnings if set.warnOnly is set or the kind of operation doesn't require the
// conditions to hold.
func (set conditionSet) eval(c *evalContext, rules []reads.Condition) error {
	e := c.e
	if len(rules) == 0 || e.op.Phase == phase.Eval ||
		e.op.Phase == phase.PlanDestroy && set.kind != checks.KindVariable {
		return nil
	}
	if e.op.Phase == phase.Validate && (set.kind == checks.KindResource || set.kind == checks.KindCheck) {
		c = c.withoutDeprecations()
	}
	var errs tfdiags.Diagnostics
	status := checks.Pass
	var messages []string
	warnOnly := set.warnOnly || set.kind != checks.KindVariable &&
		(e.op.PreDestroy || e.op.Mode == plans.RefreshOnly && !e.op.Phase.Applies())
	for _, r := range rules {
		s, message, err := set.evalOne(c, r)
		if s == checks.Error && status == checks.Fail && set.kind == checks.KindVariable {
			break // report only that the value is invalid
		}
		status = max(status, s)
		if s == checks.Fail && message != "" {
			messages = append(messages, message)
		}
		if s == checks.Fail && warnOnly { // a condition that can't be evaluated is always an error
			e.out.warn(tfdiags.FromError(err).AsWarnings()...)
			continue
		}
		errs = errs.AppendError(err)
		if s == checks.Error && set.kind == checks.KindVariable {
			break // the other rules of the variable most likely fail in the same way
		}
	}
	if !c.in.unknown {
		e.out.recordCheck(set, status, messages)
	}
	return errs.Err()
}

// evalOne evaluates one condition. If the condition fails, it also returns the message to
// record.
func (set conditionSet) evalOne(c *evalContext, r reads.Condition) (checks.Status, string, error) {
	e := c.e
	verdict, err := r.Eval(c.scope(), c.eval)
	if err != nil {
		return checks.Error, "", err
	}
	validating, variable := e.op.Phase.InputsUnknown(), set.kind == checks.KindVariable
	switch known := verdict.Result.IsKnown(); {
	case !known && set.kind == checks.KindCheck && !validating:
		d := tfdiags.Warningf("Check block assertion known after apply", "The condition depends on values that "+
			"are known only after apply, so it is checked then.").At(r.Condition.Range())
		d.Extra = tfdiags.CheckRule{Address: set.object}
		e.out.warn(d)
		return checks.Unknown, "", nil
	case !known:
		return checks.Unknown, "", nil
	case verdict.Result.True() && variable:
		return checks.Pass, "", nil
	case verdict.Unknown && variable && e.early == nil:
		return checks.Error, "", tfdiags.Errorf("Invalid error message",
			"The value is invalid, but the error message depends on values that are known only after apply. "+
				"Use only known values in the message.").At(r.Message.Range())
	case verdict.MessageErr != nil && !variable:
		return checks.Error, "", verdict.MessageErr // an error even if the condition is true
	case verdict.Result.False() && validating && !variable && set.kind != checks.KindOutput:
		// During validation, it isn't known whether the object exists at all.
		return checks.Unknown, "", nil
	}
	err = verdict.MessageErr
	switch {
	case verdict.Hidden == nil:
	case variable:
		// A user who sets the variable sees only the message, so hiding it is an error.
		hidden := *verdict.Hidden
		hidden.Severity = tfdiags.Error
		err = hidden
	default:
		e.out.warn(*verdict.Hidden)
	}
	if verdict.Result.True() {
		return checks.Pass, "", nil
	}
	d := r.Problem(c.scope(), set.failed, verdict.MessageText(), verdict.Sensitive)
	if set.at != nil {
		d.Subject = set.at
		d.Detail += "\n\nThe rule is at " + tfdiags.Place(r.Config.Range) + "." + set.origin
	}
	d.Extra = tfdiags.CheckRule{Address: set.object}
	return checks.Fail, verdict.Message, tfdiags.Join(err, d)
}

// validateVariable evaluates the validation rules of an input variable. Failures are reported at
// the expression or option that set the value.
func (e *evaluator) validateVariable(ctx context.Context, v *reads.Value, in *moduleInstance) error {
	if len(v.Conditions) == 0 {
		return nil
	}
	at, given := v.Variable.Range, ""
	if v.Expr != nil {
		at = v.Expr.Range()
	} else if val, ok := e.op.variables[v.Name]; ok && in.parent == nil && val.Range != nil {
		given = " The value is given at " + tfdiags.Place(*val.Range) + "."
	}
	err := conditionSet{
		kind: checks.KindVariable, config: v.Node.Name, object: inInstance(in.addr, "var."+v.Name),
		failed: "Invalid value for variable", at: &at, origin: given,
	}.eval(e.newContext(ctx, in, repetition{}), v.Conditions)
	return tfdiags.MapError(err, joinFailures)
}

// joinFailures joins the failures of all rules for one variable into one error, because the user
// has to change only one value.
func joinFailures(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
	var out tfdiags.Diagnostics
	first := -1
	for _, d := range diags {
		if _, failed := d.Extra.(tfdiags.CheckRule); !failed {
			out = append(out, d)
		} else if first < 0 {
			first = len(out)
			out = append(out, d)
		} else {
			out[first].Detail += "\n\n" + d.Detail
		}
	}
	return out
}

// checkPreconditions evaluates an output value's preconditions.
func (e *evaluator) checkPreconditions(ctx context.Context, in *moduleInstance, v *reads.Value) error {
	if e.op.Phase.Destroys() {
		return nil
	}
	return conditionSet{
		kind: checks.KindOutput, config: v.Node.Name, object: inInstance(in.addr, "output."+v.Name),
		failed: "Module output value precondition failed",
	}.eval(e.newContext(ctx, in, repetition{}), v.Conditions)
}

// evalCheck evaluates the assertions of a check block in every instance of its module. Failures are
// warnings.
func (e *evaluator) evalCheck(ctx context.Context, k *reads.Check) error {
	var errs tfdiags.Diagnostics
	modules := e.modulesOf(k.Module)
	if len(modules) == 0 {
		e.out.recordNoObjects(checks.KindCheck, k.Node.Name)
	}
	for _, in := range modules {
		set := conditionSet{kind: checks.KindCheck, config: k.Node.Name, object: inInstance(in.addr,
			"check."+k.Config.Name),
			failed: "Check block assertion failed", warnOnly: e.op.Phase != phase.Validate}
		c := e.newContext(ctx, in, repetition{})
		if k.Config.Data != nil && (e.out.checkFailed(set) || set.unreadInPlan(c, k)) {
			continue
		}
		errs = errs.AppendError(set.eval(c, k.Asserts))
	}
	return errs.Err()
}

// unreadInPlan reports whether the check's own data source could not be read during the plan and the
// apply doesn't read it again. If so, it records and reports the planned result again.
func (set conditionSet) unreadInPlan(c *evalContext, k *reads.Check) bool {
	e := c.e
	if e.op.Plan == nil ||
		e.op.Plan.Changes.Instance(k.Config.Data.Addr.InInstance(c.in.addr).Instance(addrs.NoKey), "") != nil {
		return false
	}
	planned := e.op.Plan.Checks.Object(set.kind, set.config, set.object)
	if planned == nil || planned.Status != checks.Fail {
		return false
	}
	var messages []string
	for _, r := range k.Asserts {
		if s, message, _ := set.evalOne(c, r); s == checks.Fail && message != "" {
			messages = append(messages, message)
		}
	}
	if slices.Equal(messages, planned.Messages) {
		return false // the assertions failed in the plan, so the data source had been read
	}
	e.out.recordCheck(set, planned.Status, planned.Messages)
	for _, message := range planned.Messages {
		d := tfdiags.Warningf(set.failed, "%s", message).At(k.Config.Data.Range)
		d.Extra = tfdiags.CheckRule{Address: set.object}
		e.out.warn(d)
	}
	return true
}

func inInstance(m addrs.ModuleInstance, name string) string {
	if m.IsRoot() {
		return name
	}
	return m.String() + "." + name
}
