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
func (e *execution) analyseAsserts() error {
	var diags tfdiags.Diagnostics
	for _, rule := range e.run.Asserts {
		a := &assertion{
			status: Error, condition: lang.Analyse(rule.Condition, addrs.TestScope),
			message: lang.Analyse(rule.ErrorMessage, addrs.TestScope),
		}
		diags = append(append(diags, a.condition.Refs.Problems...), a.message.Refs.Problems...)
		e.asserts = append(e.asserts, a)
	}
	return diags.Err()
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
		value, err := e.vars.value(variable{s.Name, fromRun})
		return err != nil || value != cty.NilVal
	}
	return false
}

// testData provides the values for assertions: those of the module and those of the test.
type testData struct {
	lang.Data
	e *execution
}

// Value implements lang.Data.
func (d testData) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	if !d.e.own(subject) {
		return d.Data.Value(subject, rng)
	}
	if run, ok := subject.(addrs.Run); ok {
		if err := d.e.checkRun(run.Name, rng); err != nil {
			return cty.DynamicVal, err
		}
		return d.e.outputs[run.Name].object(), nil
	}
	value, err := d.e.vars.value(variable{subject.(addrs.InputVariable).Name, fromRun})
	return value, placed(err, rng)
}

// partData provides the values after an apply with targets. A repeated resource that was excluded
// has no instances. An output that depends on excluded objects has its stored value, if any.
type partData struct {
	lang.Data
	module *configs.Module
	state  *states.State
}

// Value implements lang.Data.
func (d partData) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	v, err := d.Data.Value(subject, rng)
	if err != nil || v.IsWhollyKnown() {
		return v, err
	}
	switch s := subject.(type) {
	case addrs.Resource:
		r := d.module.Resources[s]
		switch stored := d.state.Resource(s.InInstance(addrs.RootInstance)); {
		case stored != nil:
		case r.Count != nil:
			return cty.EmptyTupleVal, nil
		case r.ForEach != nil:
			return cty.EmptyObjectVal, nil
		}
	case addrs.OutputValue:
		if stored, ok := outputsOf(d.state)[s.Name]; ok {
			return stored, nil
		}
		return cty.NullVal(cty.DynamicPseudoType).WithSameMarks(v), nil
	}
	return v, nil
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
	var diags, warnings tfdiags.Diagnostics
	message, messageErr := a.text(scope, warnings.Add)
	defer func() { a.diags = diags.AppendError(messageErr).Append(warnings...) }()
	a.status = Error
	ctx, err := scope.Context(a.condition.Refs)
	if err != nil {
		diags = diags.AppendError(err)
		return
	}
	v, err := lang.EvalIn(ctx, a.condition, cty.DynamicPseudoType)
	if err != nil {
		diags = diags.AppendError(err)
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
	result, err := convert.Convert(v, cty.Bool)
	switch {
	case v.IsNull():
		diags = diags.Append(problem("Invalid condition result", "The condition is null. It must be true or false."))
	case err != nil:
		diags = diags.Append(problem("Invalid condition result", "The condition must be true or false: "+
			tfdiags.FormatError(err)+"."))
	case !result.IsKnown():
		d := problem("Unknown condition value",
			"The condition depends on unknown values. Values that are known only after apply require a run "+
				"with command = apply.")
		d.Extra = tfdiags.CausedByUnknown{}
		diags = diags.Append(d)
	case messageErr != nil: // reported instead of a failure
	case result.True():
		a.status = Pass
	default:
		a.status = Fail
		d := problem("Test assertion failed", message)
		d.Extra = tfdiags.CheckRule{} // makes the printer show both sides of a comparison
		diags = diags.Append(d)
	}
}

// text evaluates the message of the assertion. If the message can't be shown, text returns a
// replacement that says so.
func (a *assertion) text(scope *lang.Scope, warn tfdiags.Sink) (string, error) {
	rng := a.message.Range()
	v, err := scope.Eval(a.message, cty.String)
	if err != nil {
		return "The error message could not be evaluated.", err
	}
	for _, hidden := range []struct {
		mark any
		what string
	}{{marks.Sensitive, "sensitive"}, {marks.Ephemeral, "ephemeral"}} {
		if what := hidden.what; marks.Has(v, hidden.mark) {
			warn(tfdiags.Warningf("Error message refers to "+what+" values",
				"The message of this assertion refers to %s values, so it is not shown. Remove the "+
					"reference, or use nonsensitive() if the result is not secret.", what).At(rng))
			return "The error message is not shown because it refers to " + what + " values.", nil
		}
	}
	v, _ = v.Unmark()
	switch {
	case v.IsNull():
		return "", tfdiags.Errorf("Invalid error message", "The error message is null. It must be a string.").At(rng)
	case !v.IsKnown():
		return "The error message depends on values that are known only after apply.", nil
	}
	return strings.TrimSpace(v.AsString()), nil
}
