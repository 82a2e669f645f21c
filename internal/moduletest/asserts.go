package moduletest

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/lang"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// assertion is an assert block with its result.
type assertion struct {
	rule   lang.Rule
	status Status
	diags  tfdiags.Diagnostics
}

// analyzeAsserts collects the references of the assertions.
func (e *execution) analyzeAsserts() error {
	var errs tfdiags.Diagnostics
	for _, check := range e.run.Asserts {
		rule := lang.Rule{Condition: lang.Analyze(check.Condition, addrs.TestScope),
			Message: lang.Analyze(check.ErrorMessage, addrs.TestScope)}
		errs = append(append(errs, rule.Condition.Refs.Problems...), rule.Message.Refs.Problems...)
		e.asserts = append(e.asserts, &assertion{rule: rule, status: Error})
	}
	return errs.Err()
}

// inspection returns an instruction for the engine to evaluate what the assertions refer to. The
// engine then calls the function do with the results, unless that is nil.
func (e *execution) inspection(do func(*lang.Scope)) *engine.Inspection {
	in := &engine.Inspection{Do: do}
	for _, a := range e.asserts {
		for _, expr := range []*lang.Expr{a.rule.Condition, a.rule.Message} {
			refs := lang.Refs{Functions: expr.Refs.Functions}
			for _, ref := range expr.Refs.Objects {
				if !e.own(ref.Subject) {
					refs.Objects = append(refs.Objects, ref)
				}
			}
			in.Refs.Add(refs)
		}
	}
	for _, o := range e.config.Module.Outputs {
		if o.Ephemeral.Value {
			in.Refs.Add(lang.Refs{Objects: []*addrs.Reference{{Subject: addrs.OutputValue{Name: o.Name}, Range: o.Range}}})
		}
	}
	return in
}

// own reports whether subject belongs to the test rather than to the module under test. This is
// true of runs, and of variables that only the test declares.
func (e *execution) own(subject addrs.Referenceable) bool {
	switch s := subject.(type) {
	case addrs.Run:
		return true
	case addrs.InputVariable:
		if e.config.Module.Variables[s.Name] != nil {
			return false
		}
		value, err := e.vars.ofRun(s.Name)
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
	value, err := d.e.vars.ofRun(subject.(addrs.InputVariable).Name)
	return value, placed(err, rng)
}

// partData provides the values after an apply with targets. If the targets exclude a resource with
// count or for_each, the resource has no instances. If an output depends on excluded objects, its
// value is the stored one, if any.
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
		if stored, ok := d.state.OutputValues()[s.Name]; ok {
			return stored, nil
		}
		return cty.NullVal(cty.DynamicPseudoType).WithSameMarks(v), nil
	}
	return v, nil
}

// evaluateAsserts evaluates all assertions in the scope of the module, and its ephemeral outputs.
func (e *execution) evaluateAsserts(scope *lang.Scope) {
	e.ephemeral = outputs{}
	for _, o := range e.config.Module.Outputs {
		if !o.Ephemeral.Value {
			continue
		}
		if value, err := scope.Data.Value(addrs.OutputValue{Name: o.Name}, o.Range); err == nil {
			e.ephemeral[o.Name] = value
		}
	}
	scope = &lang.Scope{Data: testData{scope.Data, e}, Functions: scope.Functions}
	for _, a := range e.asserts {
		a.evaluate(scope)
	}
}

// evaluate evaluates the assertion and stores its result.
func (a *assertion) evaluate(scope *lang.Scope) {
	a.status, a.diags = Error, nil
	verdict, err := a.rule.Eval(scope, scope.Eval)
	if err != nil {
		a.diags = tfdiags.FromError(err)
		return
	}
	switch {
	case !verdict.Result.IsKnown():
		d := a.rule.Problem(scope, "Unknown condition value",
			"The condition depends on unknown values. Values that are known only after apply require a run "+
				"with command = apply.", verdict.Sensitive)
		d.Extra = tfdiags.CausedByUnknown{}
		a.diags = d.List().AppendError(verdict.MessageErr)
	case verdict.MessageErr != nil: // an invalid error message is reported instead of the failure
		a.diags = tfdiags.FromError(verdict.MessageErr)
	case verdict.Result.True():
		a.status = Pass
	default:
		a.status = Fail
		d := a.rule.Problem(scope, "Test assertion failed", verdict.MessageText(), verdict.Sensitive)
		d.Extra = tfdiags.CheckRule{} // makes the printer show both operands of a comparison
		a.diags = d.List()
	}
	if verdict.Hidden != nil {
		a.diags = append(a.diags, *verdict.Hidden)
	}
}
