package engine

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/engine/graph"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// declareChecks records every object with conditions as not yet checked, so that the results list
// objects that are never reached. A destroy run records none.
func (e *evaluator) declareChecks() {
	if !e.op.Phase.Checks() && !e.op.Phase.Destroys() {
		return
	}
	for _, m := range e.graph.Modules {
		for _, c := range m.Checks {
			e.out.checks.Declare(checks.KindCheck, graph.InModule(m.Path, "check."+c.Config.Name))
		}
	}
	for _, v := range e.graph.Values {
		if len(v.Conditions) > 0 {
			block := e.out.checks.Declare(checkKind(v), v.Node.Name)
			if e.op.Phase.Destroys() && v.Kind == graph.Output && v.Module == e.graph.Root {
				block.Set(v.Node.Name, checks.Unknown, nil)
			}
		}
	}
	for _, r := range e.graph.Resources {
		if r.HasConditions() {
			e.out.checks.Declare(checks.KindResource, r.Addr.String())
		}
	}
}

func checkKind(v *graph.Value) checks.Kind {
	if v.Kind == graph.Variable {
		return checks.KindVariable
	}
	return checks.KindOutput
}

// conditionSet says how a group of conditions is reported.
type conditionSet struct {
	kind     checks.Kind
	config   string     // address of the block
	object   string     // address of the instance
	failed   string     // summary of a failed one
	warnOnly bool       // failures are warnings
	at       *hcl.Range // where failures are reported; nil for the condition itself
	origin   string     // where the value comes from
}

// evalConditions evaluates all conditions of an object, records the results and returns the
// failures.
func (e *evaluator) evalConditions(c *evalContext, rules []graph.Condition, set conditionSet) tfdiags.Diagnostics {
	if len(rules) == 0 || !e.op.Phase.Checks() && !e.op.Phase.Applies() {
		return nil
	}
	var diags tfdiags.Diagnostics
	status := checks.Pass
	var messages []string
	warnOnly := set.warnOnly || e.op.PreDestroy || e.op.Mode == plans.RefreshOnly && !e.op.Phase.Applies() &&
		set.kind != checks.KindVariable
	for _, r := range rules {
		s, message, more := e.evalCondition(c, r, set)
		if s == checks.Error && status == checks.Fail && set.kind == checks.KindVariable {
			break // the value is invalid: report that first
		}
		status = max(status, s)
		if s == checks.Fail {
			if message != "" {
				messages = append(messages, message)
			}
			if warnOnly { // a condition that can't be evaluated remains an error in the configuration
				more = more.AsWarnings()
			}
		}
		diags = diags.Append(more...)
		if s == checks.Error && set.kind == checks.KindVariable {
			break // the other rules of the variable most likely fail in the same way
		}
	}
	e.out.recordCheck(set, status, messages)
	if e.op.Phase == graph.PhaseValidate && (set.kind == checks.KindResource || set.kind == checks.KindCheck) {
		diags = withoutDeprecations(diags)
	}
	return diags
}

func (e *evaluator) evalCondition(
	c *evalContext, r graph.Condition, set conditionSet,
) (checks.Status, string, tfdiags.Diagnostics) {
	rng := r.Expr.Range()
	fail := func(format string, args ...any) (checks.Status, string, tfdiags.Diagnostics) {
		return checks.Error, "", c.argError("Invalid condition result", fmt.Sprintf(format, args...), r.Expr,
			cty.NilVal).List()
	}
	v, diags := c.eval(r.Expr, cty.DynamicPseudoType)
	// The message is evaluated even if the condition holds, so that its errors show before the
	// condition fails.
	text, more := c.eval(r.Message, cty.String)
	if diags = diags.Append(more...); diags.HasErrors() {
		return checks.Error, "", diags
	}
	v, vm := v.Unmark()
	if v.IsNull() {
		return fail("The condition is null. It must be true or false.")
	}
	result, err := convert.Convert(v, cty.Bool)
	if err != nil {
		return fail("The condition must be true or false: %s.", err)
	}
	if !result.IsKnown() {
		if set.kind == checks.KindCheck && e.op.Phase != graph.PhaseValidate {
			diags = diags.Append(tfdiags.Diagnostic{Severity: tfdiags.Warning,
				Summary: "Check block assertion known after apply",
				Detail: "The condition depends on values that are known only after apply, so it is " +
					"checked then.", Subject: &rng,
				Extra: tfdiags.CheckRule{Address: set.object}})
		}
		return checks.Unknown, "", diags
	}
	message, more := messageText(text, r.Message.Range(), set.kind)
	if result.True() && set.kind == checks.KindVariable {
		return checks.Pass, "", diags
	}
	diags = diags.Append(more...)
	switch {
	case !text.IsKnown() && set.kind == checks.KindVariable:
		return checks.Error, "", diags.Append(tfdiags.Errorf("Invalid error message",
			"The value is invalid, but the error message depends on values that are known only after apply. "+
				"Use only known values in the message.").At(r.Message.Range()))
	case more.HasErrors() && set.kind != checks.KindVariable:
		return checks.Error, "", diags // an invalid message is an error even if the condition holds
	case result.True():
		return checks.Pass, "", diags
	}
	if e.op.Phase == graph.PhaseValidate && set.kind != checks.KindVariable && set.kind != checks.KindOutput {
		return checks.Unknown, "", nil // whether the object exists is known only with inputs
	}
	detail := message
	if detail == "" {
		detail = "This check failed, but its error message can't be shown, because it is hidden or depends on " +
			"values that are known only after apply."
	}
	d := c.argError(set.failed, detail, r.Expr, cty.NilVal)
	if set.at != nil {
		d.Subject = set.at
		d.Detail += "\n\nThe rule is at " + tfdiags.Place(r.Config.Range) + "." + set.origin
	}
	d.Extra = tfdiags.CheckRule{Address: set.object}
	if _, sensitive := vm[marks.Sensitive]; sensitive {
		d.EvalContext, d.Expression = nil, nil
	}
	return checks.Fail, message, diags.Append(d)
}

// messageText returns the error message of a condition, or "" if it may not be shown. For a
// variable that is an error: the message is all that a user who sets the variable learns about the
// rule.
func messageText(v cty.Value, rng hcl.Range, kind checks.Kind) (string, tfdiags.Diagnostics) {
	hidden := tfdiags.Warning
	if kind == checks.KindVariable {
		hidden = tfdiags.Error
	}
	for _, m := range []struct {
		mark any
		what string
	}{{marks.Sensitive, "sensitive"}, {marks.Ephemeral, "ephemeral"}} {
		if marks.Has(v, m.mark) {
			return "", tfdiags.Diagnostics{{Severity: hidden,
				Summary: fmt.Sprintf("Error message refers to %s values", m.what), Subject: &rng,
				Detail: fmt.Sprintf("The error message of this condition contains %s values, so it is not "+
					"shown.", m.what)}}
		}
	}
	v, _ = v.Unmark()
	switch {
	case v.IsNull():
		return "", tfdiags.Diagnostics{{Severity: tfdiags.Error, Summary: "Invalid error message", Subject: &rng,
			Detail: "The error message is null. It must be a string."}}
	case !v.IsKnown():
		return "", nil
	}
	return strings.TrimSpace(v.AsString()), nil
}

// validateVariable evaluates the validation rules of an input variable. Failures are reported at
// the expression or option that set the value.
func (e *evaluator) validateVariable(v *graph.Value, in *moduleInstance) tfdiags.Diagnostics {
	if len(v.Conditions) == 0 {
		return nil
	}
	at, given := v.Variable.Range, ""
	if v.Expr != nil {
		at = v.Expr.Range()
	} else if val, ok := e.op.variables[v.Name]; ok && in.parent == nil && val.Range != nil {
		given = " The value is given at " + tfdiags.Place(*val.Range) + "."
	}
	return joinFailures(e.evalConditions(e.newContext(in, repetition{}), v.Conditions, conditionSet{
		kind: checks.KindVariable, config: v.Node.Name, object: inInstance(in.addr, "var."+v.Name),
		failed: "Invalid value for variable", at: &at, origin: given,
	}))
}

// joinFailures joins the failures of all rules for one variable into one error, because one value
// has to be changed.
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
func (e *evaluator) checkPreconditions(in *moduleInstance, v *graph.Value) tfdiags.Diagnostics {
	if e.op.Phase.Destroys() {
		return nil
	}
	return e.evalConditions(e.newContext(in, repetition{}), v.Conditions, conditionSet{
		kind: checks.KindOutput, config: v.Node.Name, object: inInstance(in.addr, "output."+v.Name),
		failed: "Module output value precondition failed",
	})
}

// evalCheck evaluates the assertions of a check block in every instance of its module. Failures are
// warnings.
func (e *evaluator) evalCheck(k *graph.Check) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	if len(e.modules.of(k.Module)) == 0 {
		e.out.recordNoObjects(checks.KindCheck, k.Node.Name)
	}
	for _, in := range e.modules.of(k.Module) {
		set := conditionSet{kind: checks.KindCheck, config: k.Node.Name, object: inInstance(in.addr,
			"check."+k.Config.Name),
			failed: "Check block assertion failed", warnOnly: e.op.Phase != graph.PhaseValidate}
		if k.Config.Data != nil && (e.out.checkFailed(set) || e.dataFailedInPlan(k, in, set)) {
			continue
		}
		diags = diags.Append(e.evalConditions(e.newContext(in, repetition{}), k.Asserts, set)...)
	}
	return diags
}

// dataFailedInPlan reports whether reading the check's own data source failed in the plan and apply
// doesn't retry it. If so, it records the planned result again.
func (e *evaluator) dataFailedInPlan(k *graph.Check, in *moduleInstance, set conditionSet) bool {
	if e.op.Plan == nil ||
		e.op.Plan.Changes.Instance(k.Config.Data.Addr.InInstance(in.addr).Instance(addrs.NoKey), "") != nil {
		return false
	}
	planned := e.op.Plan.Checks.Object(set.kind, set.config, set.object)
	if planned == nil || planned.Status != checks.Fail {
		return false
	}
	e.out.recordCheck(set, planned.Status, planned.Messages)
	return true
}

func inInstance(m addrs.ModuleInstance, name string) string {
	if m.IsRoot() {
		return name
	}
	return m.String() + "." + name
}
