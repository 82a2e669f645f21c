package engine

import (
	"context"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// evalValue evaluates a variable, local or output in every instance of its module. It evaluates all
// instances even if one fails, so that all errors are reported.
func (e *evaluator) evalValue(ctx context.Context, v *reads.Value) error {
	var errs tfdiags.Diagnostics
	modules := e.modulesOf(v.Module)
	if len(v.Conditions) > 0 && len(modules) == 0 {
		e.out.recordNoObjects(checkKind(v), v.Node.Name)
	}
	for _, in := range modules {
		if in.lazy == nil {
			errs = errs.AppendError(e.evalValueIn(ctx, v, in))
			if v.Kind == reads.Variable {
				in.values[v.Slot] = unknownVariable(v.Variable) // validation must hold for all possible values
			}
			continue
		}
		_, err := e.newContext(ctx, in, repetition{}).valueOf(v, in)
		errs = errs.AppendError(err)
	}
	for _, in := range e.modules.undeclared(v.Module) {
		_, _ = e.newContext(ctx, in, repetition{}).valueOf(v, in) // it never fails
	}
	return errs.Err()
}

// evalValueIn evaluates a value in one instance of its module.
func (e *evaluator) evalValueIn(ctx context.Context, v *reads.Value, in *moduleInstance) error {
	var err error
	switch v.Kind {
	case reads.Variable:
		in.values[v.Slot], err = e.argumentValue(ctx, v, in)
		if err == nil {
			err = e.validateVariable(ctx, v, in)
		}
	case reads.Local:
		in.values[v.Slot], err = e.contextOf(ctx, v, in).eval(v.Expr, cty.DynamicPseudoType)
	case reads.Output:
		err = outputEval{e}.evalOutput(ctx, v, in)
	}
	return e.unlessLeftOut(v, in, err)
}

// argumentValue is like variableValue. If the value is the same for all instances of a module call, it
// is evaluated once.
func (e *evaluator) argumentValue(ctx context.Context, v *reads.Value, in *moduleInstance) (val cty.Value, err error) {
	if in.lazy == nil || in.parent == nil || v.PerInstance || in.undeclared {
		return e.variableValue(ctx, v, in)
	}
	shared := in.parent.calls[v.Module.CallSlot].argument(argumentOf{v, e.graph.LeavesOut(v.Node, in.addr)})
	err = shared.do(e, func(e *evaluator) error {
		var err error
		shared.value, err = e.variableValue(ctx, v, in)
		return e.unlessLeftOut(v, in, err)
	})
	return shared.value, err
}

// argumentOf identifies an argument of a module call, and whether it is evaluated for instances that a
// partial run leaves out.
type argumentOf struct {
	v       *reads.Value
	leftOut bool
}

// argument is the value of an argument that is the same for all instances of a module call.
type argument struct {
	firstUse
	value cty.Value
}

// argument returns the shared value of an argument.
func (ci *callInstances) argument(of argumentOf) *argument {
	ci.mu.Lock()
	defer ci.mu.Unlock()
	if ci.arguments == nil {
		ci.arguments = map[argumentOf]*argument{}
	}
	if ci.arguments[of] == nil {
		ci.arguments[of] = &argument{}
	}
	return ci.arguments[of]
}

// unlessLeftOut returns the error of a value, or nil if a partial run leaves the value out: it may
// refer to instances that don't exist in such a run.
func (e *evaluator) unlessLeftOut(v *reads.Value, in *moduleInstance, err error) error {
	if err != nil && e.graph.LeavesOut(v.Node, in.addr) {
		return nil
	}
	return err
}

// contextOf returns the context in which a local or output is evaluated in one module instance.
func (e *evaluator) contextOf(ctx context.Context, v *reads.Value, in *moduleInstance) *evalContext {
	c := e.newContext(ctx, in, repetition{})
	c.setValue(v, in)
	return c
}

// setValue prepares a context for the expression of a value in one instance of its module.
func (c *evalContext) setValue(v *reads.Value, in *moduleInstance) {
	c.ofValue, c.leftOut, c.ignoreDeprecations = true, c.e.graph.LeavesOut(v.Node, in.addr), in.undeclared
	if !c.e.valuesReadSingly() {
		return
	}
	for _, read := range v.AliasReads {
		c.reads = append(c.reads, c.selected(read)...)
	}
}

// variableValue returns an input variable's final value in one module instance.
func (e *evaluator) variableValue(ctx context.Context, v *reads.Value, in *moduleInstance) (cty.Value, error) {
	if in.parent == nil && e.op.Phase.InputsUnknown() {
		return unknownVariable(v.Variable), nil
	}
	given, err := e.givenValue(ctx, v, in)
	if err != nil {
		return cty.UnknownVal(v.Variable.Type.Type), err
	}
	out, err := finalValue(v, in, given)
	if e.op.Phase.InputsUnknown() && err == nil && v.Expr != nil {
		configs.UnusedAttributes(v.Expr.Expression, v.Variable.Type.Type, e.out.warn)
	}
	return out, err
}

// givenValue returns the value that is given for a variable in one module instance: by an option or
// the environment, or by the argument of the module call. Value is NilVal if there is none.
func (e *evaluator) givenValue(ctx context.Context, v *reads.Value, in *moduleInstance) (Variable, error) {
	if in.parent == nil {
		if given := e.op.variables[v.Name]; given.Value != cty.NilVal {
			return given, nil
		}
		return Variable{}, nil
	}
	if v.Expr == nil {
		return Variable{}, nil
	}
	if v.Variable.Deprecated != "" && !in.undeclared {
		e.out.warn(deprecatedArgument(v))
	}
	c := e.argumentContext(ctx, v, in)
	given, err := c.eval(v.Expr, cty.DynamicPseudoType)
	if err != nil {
		return Variable{}, err
	}
	rng := v.Expr.Range()
	if !v.Variable.Ephemeral.Value && marks.Contains(given, marks.Ephemeral) {
		return Variable{}, tfdiags.Errorf("Variable does not allow ephemeral value",
			"The value given for var.%s of %s is ephemeral. To accept it, declare the variable with ephemeral "+
				"= true.", v.Name, reads.ModuleName(v.Module.Path)).At(rng)
	}
	return Variable{Value: given, Range: &rng}, nil
}

// argumentContext returns the context in which the argument for a variable is evaluated.
func (e *evaluator) argumentContext(ctx context.Context, v *reads.Value, in *moduleInstance) *evalContext {
	c := e.newContext(ctx, in.parent, in.rep)
	c.setValue(v, in)
	if each := v.Module.Each; each != nil && v.ReadsEachValue() {
		if each.Call != nil {
			each = v.EachCall // with only the outputs that the argument reads
		}
		key, err := addrs.KeyFromValue(in.rep.eachKey)
		if err == nil {
			c.setEachValue(each, key)
		}
	}
	return c
}

// finalValue converts a given value to the type of a variable and applies the variable's default.
// cty.NilVal means that no value was given. A wrong type is reported at the variable's declaration;
// the detail says where the value was given.
func finalValue(v *reads.Value, in *moduleInstance, given Variable) (cty.Value, error) {
	out, err := v.Variable.Final(given.Value)
	if err == nil {
		return out, nil
	}
	name, declared := inInstance(in.addr, "var."+v.Name), tfdiags.Place(v.Variable.Range)
	if given.Value == cty.NilVal {
		return unknownVariable(v.Variable), tfdiags.Errorf("No value for required variable",
			"%s, which is declared at %s, has no default, and no value was given.", name, declared).At(v.Variable.Range)
	}
	summary, rng := "Invalid value for input variable", v.Variable.Range
	if given.Value.IsNull() && given.Range != nil {
		summary, rng = "Required variable not set", *given.Range
	}
	from := ""
	if at := given.Range; at != nil {
		from = " at " + tfdiags.Place(*at)
	} else if given.From != "" {
		from = " by " + given.From
	}
	d := tfdiags.Errorf(summary, "The value given%s is not valid for %s, which is declared at %s: %s.",
		from, name, declared, tfdiags.FormatError(err)).At(rng)
	return unknownVariable(v.Variable), d
}

func unknownVariable(v *configs.Variable) cty.Value {
	return marks.Declared(cty.UnknownVal(v.Type.Type), v.Sensitive.Value, v.Ephemeral.Value)
}

// outputEval evaluates outputs, and records those of the root module.
type outputEval struct{ *evaluator }

// evalOutput evaluates an output value and its preconditions.
func (e outputEval) evalOutput(ctx context.Context, v *reads.Value, in *moduleInstance) error {
	root := in.parent == nil
	if err := e.checkPreconditions(ctx, in, v); err != nil {
		in.values[v.Slot] = cty.DynamicVal
		return err
	}
	val, err := e.outputValue(ctx, v, in, root)
	err = tfdiags.Join(e.refErrors(v.Module, v.DependsOn), err)
	if root && !e.op.Phase.InputsUnknown() {
		var path cty.Path
		var infinite bool
		val, path, infinite = objchange.StorableNumbers(val)
		if infinite {
			err = tfdiags.Join(err, infiniteNumber(path).At(v.Output.Expr.Range()))
		}
	}
	if err = tfdiags.Join(err, e.checkOutputMarks(v, val, root)); err != nil {
		in.values[v.Slot] = cty.DynamicVal
		return err
	}
	val = marks.Declared(val, v.Output.Sensitive.Value, v.Output.Ephemeral.Value)
	if v.Output.Deprecated != "" && !root && e.deprecates {
		val = val.Mark(deprecation(v, in))
	}
	in.values[v.Slot] = val
	if root {
		e.recordOutput(v, val)
	}
	return nil
}

// outputValue evaluates the expression of an output. For a root output whose value the plan already
// knows, it returns that value, unless something that the expression reads has failed.
func (e outputEval) outputValue(ctx context.Context, v *reads.Value, in *moduleInstance, root bool) (cty.Value, error) {
	c, known := e.contextOf(ctx, v, in), cty.NilVal
	if root && e.op.Phase.Applies() {
		if change := e.op.Plan.Changes.Output(v.Name); change != nil && change.After.IsWhollyKnown() {
			c, known = c.withoutDeprecations(), change.After // the plan has warned of them
		}
	}
	val, err := c.eval(v.Expr, cty.DynamicPseudoType)
	if known != cty.NilVal && (err == nil || reported(err) != nil) {
		return known, nil // also if only this expression can't be evaluated now
	}
	return val, err
}

func (e outputEval) checkOutputMarks(v *reads.Value, val cty.Value, root bool) error {
	var errs tfdiags.Diagnostics
	o := v.Output
	if root && !o.Sensitive.Value && marks.Contains(val, marks.Sensitive) {
		errs = errs.Append(tfdiags.Errorf("Output refers to sensitive values",
			"The value is sensitive, so the output must be declared with sensitive = true. If the "+
				"value is not secret, use nonsensitive().").At(o.Range))
	}
	ephemeral := marks.Contains
	if e.op.Phase.InputsUnknown() {
		ephemeral = marks.Has // marks of nested values are checked only when the values are known
	}
	if !o.Ephemeral.Value && ephemeral(val, marks.Ephemeral) {
		detail := "The value is derived from an ephemeral value, so the output must be declared with ephemeral = true."
		if root {
			detail = "A root module's output values are stored, so they can't be derived from ephemeral values."
		}
		errs = errs.Append(tfdiags.Errorf("Output does not allow ephemeral value", "%s", detail).At(o.Expr.Range()))
	}
	return errs.Err()
}

// recordOutput records the value of a root output: as a planned change, or in the state.
func (e outputEval) recordOutput(v *reads.Value, val cty.Value) {
	e.out.mu.Lock()
	defer e.out.mu.Unlock()
	switch {
	case absent(val): // the output keeps its stored value
	case e.op.Phase.Plans():
		val = marks.Without(val, marks.Renewed)
		e.out.changes.AddOutput(outputChange(v.Output, e.op.Prior.Output(v.Name), val))
		if bare, _ := val.UnmarkDeep(); bare.IsWhollyKnown() && (e.op.PreDestroy || e.op.Mode == plans.RefreshOnly) {
			// A refresh also stores the new values of outputs.
			e.out.storeOutput(v.Output, val)
		}
	case e.op.Phase.Applies():
		if bare, _ := val.UnmarkDeep(); !bare.IsWhollyKnown() && e.keepsUnknown(v.Name) {
			return
		}
		e.out.storeOutput(v.Output, val)
	}
}

// keepsUnknown reports whether an apply keeps the stored value of a root output whose new value is
// unknown. Such a value may depend on something that is deferred or not part of the apply.
func (e outputEval) keepsUnknown(output string) bool {
	return len(e.op.deferredResources)+len(e.op.deferredModules) > 0 || e.op.Plan.Past != nil ||
		e.op.Partial() && e.out.state.Output(output) != nil
}

// outputChange returns the change of a root output. prior is its stored value, or nil, and after is
// its new value.
func outputChange(o *configs.Output, prior *states.Output, after cty.Value) *plans.OutputChange {
	change := &plans.OutputChange{Name: o.Name, Before: cty.NullVal(cty.DynamicPseudoType), After: after,
		Deprecated: o.Deprecated, Action: plans.Update}
	sensitiveBefore, deprecatedBefore := false, o.Deprecated
	if prior != nil {
		change.Before = prior.Value
		sensitiveBefore, deprecatedBefore = prior.Sensitive, prior.Deprecated
	}
	change.Sensitive = sensitiveBefore || o.Sensitive.Value
	bare, _ := after.UnmarkDeep()
	switch {
	case bare.IsNull() && change.Before.IsNull():
		change.Action = plans.NoOp
	case prior == nil:
		change.Action = plans.Create
	case sensitiveBefore == o.Sensitive.Value && deprecatedBefore == o.Deprecated && bare.IsWhollyKnown() &&
		bare.RawEquals(change.Before):
		change.Action = plans.NoOp
	}
	if sensitiveBefore {
		change.Before = change.Before.Mark(marks.Sensitive)
	}
	return change
}

// infiniteNumber returns the error for a number that can't be stored because it is infinite or has
// too many digits.
func infiniteNumber(path cty.Path) tfdiags.Diagnostic {
	what := "The value"
	if len(path) > 0 {
		what += "'s attribute " + strings.TrimPrefix(tfdiags.FormatPath(path), ".")
	}
	return tfdiags.Errorf("Number is infinite",
		"%s is an infinite number, or has hundreds of thousands of digits, so it can't be stored. "+
			"Functions such as log and pow return infinity if there is no finite result.", what)
}
