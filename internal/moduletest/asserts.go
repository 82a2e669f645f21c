package moduletest

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/lang"
	"tofu/internal/lang/marks"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// assertion is an assert block and its result.
type assertion struct {
	condition, message *lang.Expr
	status             Status
	diags              tfdiags.Diagnostics
}

// analyseAsserts collects the references of the assertions.
func (e *execution) analyseAsserts() tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	for _, rule := range e.run.Asserts {
		a := &assertion{
			status: Error, condition: lang.Analyse(rule.Condition, addrs.TestScope),
			message: lang.Analyse(rule.ErrorMessage, addrs.TestScope),
		}
		diags = append(append(diags, a.condition.Refs.Problems...), a.message.Refs.Problems...)
		e.asserts = append(e.asserts, a)
	}
	return diags
}

// inspection makes the engine evaluate what the assertions refer to and, if evaluate is set, the
// assertions.
func (e *execution) inspection(evaluate bool) *engine.Inspection {
	in := &engine.Inspection{}
	for _, a := range e.asserts {
		for _, expr := range []*lang.Expr{a.condition, a.message} {
			refs := lang.Refs{Functions: expr.Refs.Functions}
			for _, ref := range expr.Refs.Objects {
				if !e.own(ref.Subject) {
					refs.Objects = append(refs.Objects, ref)
				}
			}
			in.Refs.Add(refs)
		}
	}
	if evaluate {
		in.Do = e.evaluateAsserts
	}
	return in
}

// own reports whether something belongs to the test rather than the module: runs, and variables
// that the module doesn't declare.
func (e *execution) own(subject addrs.Referenceable) bool {
	switch s := subject.(type) {
	case addrs.Run:
		return true
	case addrs.InputVariable:
		if e.config.Module.Variables[s.Name] != nil {
			return false
		}
		value, diags := e.vars.value(variable{s.Name, fromRun})
		return diags.HasErrors() || value != cty.NilVal
	}
	return false
}

// testData provides the values for assertions: those of the module and those of the test.
type testData struct {
	lang.Data
	e *execution
}

// Value implements lang.Data.
func (d testData) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, tfdiags.Diagnostics) {
	if !d.e.own(subject) {
		return d.Data.Value(subject, rng)
	}
	if run, ok := subject.(addrs.Run); ok {
		if diags := d.e.checkRun(run.Name, rng); diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		return d.e.outputs[run.Name].object(), nil
	}
	value, diags := d.e.vars.value(variable{subject.(addrs.InputVariable).Name, fromRun})
	return value, placed(diags, rng)
}

// partData provides the values after an apply with targets. A repeated resource that was excluded
// has no instances. An output that depends on excluded objects has its stored value, if any.
type partData struct {
	lang.Data
	module *configs.Module
	state  *states.State
}

// Value implements lang.Data.
func (d partData) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, tfdiags.Diagnostics) {
	v, diags := d.Data.Value(subject, rng)
	if diags.HasErrors() || v.IsWhollyKnown() {
		return v, diags
	}
	switch s := subject.(type) {
	case addrs.Resource:
		r := d.module.Resources[s]
		switch stored := d.state.Resource(s.InInstance(addrs.RootInstance)); {
		case stored != nil:
		case r.Count != nil:
			return cty.EmptyTupleVal, diags
		case r.ForEach != nil:
			return cty.EmptyObjectVal, diags
		}
	case addrs.OutputValue:
		if stored, ok := outputsOf(d.state)[s.Name]; ok {
			return stored, diags
		}
		return cty.NullVal(cty.DynamicPseudoType).WithSameMarks(v), diags
	}
	return v, diags
}

// evaluateAsserts evaluates all assertions in the module's scope.
func (e *execution) evaluateAsserts(scope *lang.Scope) {
	scope = &lang.Scope{Data: testData{scope.Data, e}, Functions: scope.Functions}
	for _, a := range e.asserts {
		a.evaluate(scope)
	}
}

// evaluate evaluates the assertion. It always evaluates the message, so that errors in it are
// reported before the assertion fails.
func (a *assertion) evaluate(scope *lang.Scope) {
	message, wrong := a.text(scope)
	ctx, diags := scope.Context(a.condition.Refs)
	var v cty.Value
	if !diags.HasErrors() {
		var more tfdiags.Diagnostics
		v, more = lang.EvalIn(ctx, a.condition, cty.DynamicPseudoType)
		diags = append(diags, more...)
	}
	if diags.HasErrors() {
		a.status, a.diags = Error, append(diags, wrong...)
		return
	}
	v, vm := v.UnmarkDeep()
	problem := func(summary, detail string) tfdiags.Diagnostic {
		rng := a.condition.Range()
		d := tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: summary, Detail: detail, Subject: &rng}
		if _, hidden := vm[marks.Sensitive]; !hidden {
			d.Expression, d.EvalContext = a.condition.Expression, ctx
		}
		return d
	}
	a.status = Error
	result, err := convert.Convert(v, cty.Bool)
	switch {
	case v.IsNull():
		diags = append(diags, problem("Invalid condition result", "The condition is null. It must be true or false."))
	case err != nil:
		diags = append(diags, problem("Invalid condition result", "The condition must be true or false: "+
			tfdiags.FormatError(err)+"."))
	case !result.IsKnown():
		d := problem("Unknown condition value",
			"The condition depends on unknown values. Values that are known only after apply require a run "+
				"with command = apply.")
		d.Extra = tfdiags.CausedByUnknown{}
		diags = append(diags, d)
	case result.True():
		a.status = Pass
	case wrong.HasErrors(): // reported instead of the failure
	default:
		a.status = Fail
		d := problem("Test assertion failed", message)
		d.Extra = tfdiags.CheckRule{} // makes the printer show both sides of a comparison
		diags = append(diags, d)
	}
	if wrong.HasErrors() {
		a.status = Error
	}
	a.diags = append(diags, wrong...)
}

// text evaluates the message of the assertion. If the message can't be shown, text returns a
// replacement that says so.
func (a *assertion) text(scope *lang.Scope) (string, tfdiags.Diagnostics) {
	rng := a.message.Range()
	v, diags := scope.Eval(a.message, cty.String)
	if diags.HasErrors() {
		return "The error message could not be evaluated.", diags
	}
	for _, hidden := range []struct {
		mark any
		what string
	}{{marks.Sensitive, "sensitive"}, {marks.Ephemeral, "ephemeral"}} {
		if what := hidden.what; marks.Has(v, hidden.mark) {
			return "The error message is not shown because it refers to " + what + " values.", append(diags,
				tfdiags.Warningf("Error message refers to "+what+" values",
					"The message of this assertion refers to %s values, so it is not shown. Remove the "+
						"reference, or use nonsensitive() if the result is not secret.", what).At(rng))
		}
	}
	v, _ = v.Unmark()
	switch {
	case v.IsNull():
		return "", append(diags, tfdiags.Errorf("Invalid error message",
			"The error message is null. It must be a string.").At(rng))
	case !v.IsKnown():
		return "The error message depends on values that are known only after apply.", diags
	}
	return strings.TrimSpace(v.AsString()), diags
}
