package engine

import (
	"strings"

	"tofu/internal/plans/objchange"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// evalValue evaluates a variable, local or output in every instance of its module. All instances are looked at before a failure
// stops anything, so that no problem hides another.
func (w *walk) evalValue(v *value) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	var shared cty.Value // a variable's value that is the same for all instances of one call
	var sharedIn *moduleInstance
	if len(v.rules) > 0 && len(w.instances(v.module)) == 0 {
		w.nothingToCheck(checkKind(v), v.node.Name)
	}
	for _, in := range w.instances(v.module) {
		var more tfdiags.Diagnostics
		switch v.kind {
		case variableValue:
			if sharedIn == nil || sharedIn != in.parent || v.perCall {
				shared, more = w.variableValue(v, in)
				sharedIn = in.parent
			}
			in.values[v.slot] = shared
			if !more.HasErrors() {
				more = more.Append(w.validateVariable(v, in))
			}
			if w.op.phase == PhaseValidate {
				in.values[v.slot] = unknownVariable(v.variable) // a module is validated for whatever it may be called with
			}
		case localValue:
			in.values[v.slot], more = w.context(in, repetition{}).eval(v.expr, cty.DynamicPseudoType)
		case outputValue:
			more = w.evalOutput(v, in)
		}
		diags = diags.Append(more)
	}
	return diags
}

// variableValue gives an input variable's final value in one module instance.
func (w *walk) variableValue(v *value, in *moduleInstance) (cty.Value, tfdiags.Diagnostics) {
	if in.parent == nil {
		return w.rootVariable(v)
	}
	if v.expr == nil {
		return finalValue(v, in, Variable{})
	}
	c := w.context(in.parent, in.rep)
	given, diags := c.eval(v.expr, cty.DynamicPseudoType)
	if v.variable.Deprecated != "" {
		diags = diags.Append(deprecatedArgument(v))
	}
	if diags.HasErrors() {
		return cty.UnknownVal(v.variable.Type.Type), diags
	}
	rng := v.expr.Range()
	if !v.variable.Ephemeral && marks.Contains(given, marks.Ephemeral) {
		diags = diags.Append(tfdiags.Errorf("Variable does not allow ephemeral value",
			"The value given for var.%s of %s is ephemeral. To take it, the variable must be declared with ephemeral = true.", v.name, moduleName(v.module.path)).At(rng))
		return cty.UnknownVal(v.variable.Type.Type), diags
	}
	out, more := finalValue(v, in, Variable{Value: given, Range: &rng})
	if w.op.phase == PhaseValidate && !more.HasErrors() {
		more = more.Append(configs.UnusedAttributes(v.expr.Expression, v.variable.Type.Type))
	}
	return out, diags.Append(more)
}

func (w *walk) rootVariable(v *value) (cty.Value, tfdiags.Diagnostics) {
	if w.op.phase == PhaseValidate {
		return unknownVariable(v.variable), nil
	}
	given, ok := w.op.variables[v.name]
	if !ok || given.Value == cty.NilVal {
		return finalValue(v, w.instances(w.graph.root)[0], Variable{})
	}
	return finalValue(v, w.instances(w.graph.root)[0], given)
}

// finalValue converts a value to a variable's type and applies its default; cty.NilVal means that none was given. A wrong type is
// reported at the declaration, which asks for another one, and names the place of the value.
func finalValue(v *value, in *moduleInstance, given Variable) (cty.Value, tfdiags.Diagnostics) {
	out, err := v.variable.Final(given.Value)
	if err == nil {
		return out, nil
	}
	summary, rng := "Invalid value for input variable", v.variable.Range
	switch {
	case given.Value == cty.NilVal:
		summary = "No value for required variable"
	case given.Value.IsNull() && given.Range != nil:
		summary, rng = "Required variable not set", *given.Range
	}
	from := ""
	if at := given.Range; at != nil {
		from = " at " + tfdiags.Place(*at)
	} else if given.From != "" {
		from = " by " + given.From
	}
	d := tfdiags.Errorf(summary, "The value given%s is not suitable for %s, which is declared at %s: %s.",
		from, inInstance(in.addr, "var."+v.name), tfdiags.Place(v.variable.Range), tfdiags.FormatError(err)).At(rng)
	return unknownVariable(v.variable), tfdiags.Diagnostics{d}
}

func unknownVariable(v *configs.Variable) cty.Value {
	val := cty.UnknownVal(v.Type.Type)
	if v.Sensitive {
		val = val.Mark(marks.Sensitive)
	}
	if v.Ephemeral {
		val = val.Mark(marks.Ephemeral)
	}
	return val
}

// evalOutput evaluates an output value with its preconditions.
func (w *walk) evalOutput(v *value, in *moduleInstance) tfdiags.Diagnostics {
	root := in.parent == nil
	diags := w.checkRules(in, v)
	if diags.HasErrors() {
		in.values[v.slot] = cty.DynamicVal
		return diags
	}
	diags = diags.Append(w.refusals(v.module, &v.dependsOn))
	val, more := w.outputValue(v, in, root)
	diags = diags.Append(more)
	if root && w.op.phase != PhaseValidate {
		var path cty.Path
		var infinite bool
		if val, path, infinite = objchange.StorableNumbers(val); infinite {
			diags = diags.Append(infiniteNumber(path).At(v.output.Expr.Range()))
		}
	}
	diags = diags.Append(w.checkOutputMarks(v, val, root))
	if diags.HasErrors() {
		in.values[v.slot] = cty.DynamicVal
		return diags
	}
	o := v.output
	if o.Sensitive {
		val = val.Mark(marks.Sensitive)
	}
	if o.Ephemeral {
		val = val.Mark(marks.Ephemeral)
	}
	if o.Deprecated != "" && !root && w.deprecates {
		val = val.Mark(deprecation(v, in))
	}
	in.values[v.slot] = val
	if root {
		w.rootOutput(v, val)
	}
	return diags
}

// outputValue evaluates the expression, except that a root output whose planned value is known already is taken from the plan.
func (w *walk) outputValue(v *value, in *moduleInstance, root bool) (cty.Value, tfdiags.Diagnostics) {
	if root && w.op.phase.Applies() {
		if change := w.op.plan.Changes.Output(v.name); change != nil && change.After.IsWhollyKnown() {
			return change.After, nil
		}
	}
	return w.context(in, repetition{}).eval(v.expr, cty.DynamicPseudoType)
}

func (w *walk) checkOutputMarks(v *value, val cty.Value, root bool) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	o := v.output
	if root && !o.Sensitive && marks.Contains(val, marks.Sensitive) {
		diags = diags.Append(tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Output refers to sensitive values",
			Detail:  "The value is sensitive, so the output has to say that it is: add sensitive = true. Where the value is no secret, nonsensitive() makes it visible.",
			Subject: &o.Range})
	}
	ephemeral := marks.Contains
	if w.op.phase == PhaseValidate {
		ephemeral = marks.Has // what lies deeper is found where there are values
	}
	if !o.Ephemeral && ephemeral(val, marks.Ephemeral) {
		rng := o.Expr.Range()
		detail := "The value is derived from an ephemeral one, so the output must be declared with ephemeral = true."
		if root {
			detail = "A root module's output values are stored, so they can't be derived from ephemeral values."
		}
		diags = diags.Append(tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Output does not allow ephemeral value", Detail: detail, Subject: &rng})
	}
	return diags
}

// rootOutput records what becomes of a root output: a planned change, or the new value in the state.
func (w *walk) rootOutput(v *value, val cty.Value) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.op.phase.Plans():
		w.changes.AddOutput(outputChange(v.output, w.op.prior.Output(v.name), val))
		if bare, _ := val.UnmarkDeep(); bare.IsWhollyKnown() && (w.op.preDestroy || w.op.mode == plans.RefreshOnly) {
			// What only takes note of how things are takes note of outputs too.
			w.storeOutput(v.output, val)
		}
	case w.op.phase.Applies():
		if bare, _ := val.UnmarkDeep(); !bare.IsWhollyKnown() && w.op.selective() && w.state.Output(v.name) != nil {
			return // it tells of a gap between counted instances; what was stored stays until that is closed
		}
		w.storeOutput(v.output, val)
	}
}

func (w *walk) storeOutput(o *configs.Output, val cty.Value) {
	bare, _ := val.UnmarkDeep()
	if bare.IsNull() {
		w.state.SetOutput(o.Name, nil)
		return
	}
	w.state.SetOutput(o.Name, &states.Output{Value: cty.UnknownAsNull(bare), Sensitive: o.Sensitive, Deprecated: o.Deprecated})
}

// outputChange compares a root output with what the state has.
func outputChange(o *configs.Output, prior *states.Output, after cty.Value) *plans.OutputChange {
	change := &plans.OutputChange{Name: o.Name, Before: cty.NullVal(cty.DynamicPseudoType), After: after, Deprecated: o.Deprecated, Action: plans.Update}
	sensitiveBefore, deprecatedBefore := false, o.Deprecated
	if prior != nil {
		change.Before = prior.Value
		sensitiveBefore, deprecatedBefore = prior.Sensitive, prior.Deprecated
	}
	change.Sensitive = sensitiveBefore || o.Sensitive
	bare, _ := after.UnmarkDeep()
	switch {
	case bare.IsNull() && change.Before.IsNull():
		change.Action = plans.NoOp
	case prior == nil:
		change.Action = plans.Create
	case sensitiveBefore == o.Sensitive && deprecatedBefore == o.Deprecated && bare.IsWhollyKnown() && bare.RawEquals(change.Before):
		change.Action = plans.NoOp
	}
	if sensitiveBefore {
		change.Before = change.Before.Mark(marks.Sensitive)
	}
	return change
}

// infiniteNumber returns the error for a number that can't be stored.
func infiniteNumber(path cty.Path) tfdiags.Diagnostic {
	what := "The value"
	if len(path) > 0 {
		what += "'s attribute " + strings.TrimPrefix(tfdiags.FormatPath(path), ".")
	}
	return tfdiags.Errorf("Number is infinite",
		"%s is an infinite number, or has hundreds of thousands of digits, so it can't be stored. "+
			"Functions such as log and pow return infinity if there is no finite result.", what)
}
