package moduletest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/marks"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// functionTable returns the functions for expressions in test files. It builds the table when it is
// called first.
type functionTable func() map[string]function.Function

func newFunctionTable() functionTable {
	return sync.OnceValue(func() map[string]function.Function { return funcs.Table(funcs.Options{}) })
}

// outputs are the outputs of a run by name.
type outputs map[string]cty.Value

func (o outputs) object() cty.Value { return cty.ObjectVal(o) }

// level is the precedence of a source of variable values. Lower levels take precedence.
type level uint8

const (
	fromOutside level = iota // command line and variable files
	fromFile
	fromRun
)

// variables determines the values of variables for one run. It evaluates expressions only when they
// are needed, so errors in unused expressions don't matter.
type variables struct {
	*fileRun
	run    *configs.TestRun
	module *configs.Module
	found  map[variable]*found
}

// variable identifies the value of a variable at one level.
type variable struct {
	name  string
	level level
}

type found struct {
	value cty.Value // NilVal if the variable is not set
	err   error
	busy  bool
	// secret says that a variable that the test file declares as sensitive is part of the value.
	secret bool
}

func newVariables(f *fileRun, run *configs.TestRun, module *configs.Module) *variables {
	return &variables{fileRun: f, run: run, module: module, found: map[variable]*found{}}
}

// forModule returns the values of the module's variables that are set. It returns an error if a
// required variable is not set.
func (v *variables) forModule() (map[string]engine.Variable, error) {
	var errs tfdiags.Diagnostics
	out := map[string]engine.Variable{}
	for _, name := range slices.Sorted(maps.Keys(v.module.Variables)) {
		declared := v.module.Variables[name]
		value, err := v.ofRun(name)
		switch {
		case err != nil:
			errs = errs.AppendError(err)
		case value != cty.NilVal && !declared.Ephemeral.Value && marks.Contains(value, marks.Ephemeral):
			errs = append(errs, tfdiags.Errorf("Variable does not allow ephemeral value",
				"The run %q sets the variable %q of the module under test to an ephemeral value. To accept it, declare the "+
					"variable with ephemeral = true.", v.run.Name, name).At(declared.Range))
		case value != cty.NilVal:
			out[name] = engine.Variable{Value: v.shown(name, value)}
		case declared.Required():
			errs = append(errs, tfdiags.Errorf("No value for required variable",
				"The module under test requires the variable %q, which has no value in the run %q. Set it in a "+
					"variables block of the run or the file, with -var, or in a variable file.",
				name, v.run.Name).At(declared.Range))
		}
	}
	return out, errs.Err()
}

// ofRun returns the value that a variable has in the run, or NilVal if it is not set.
func (v *variables) ofRun(name string) (cty.Value, error) {
	value, err := v.value(variable{name, fromRun})
	if declared := v.file.Declared[name]; value == cty.NilVal && err == nil && declared != nil && declared.Default.Set {
		return declared.Final(cty.NilVal)
	}
	return value, err
}

// shown returns the value of a variable for the module under test. The module decides which of its
// variables are sensitive, except for values that the test file declares as sensitive.
func (v *variables) shown(name string, value cty.Value) cty.Value {
	if declared := v.file.Declared[name]; declared != nil && declared.Sensitive.Value ||
		v.found[variable{name, fromRun}].secret {
		return value
	}
	return marks.Without(value, marks.Sensitive)
}

// checkDeclared evaluates the variables that the test file declares, as those of a root module. A
// variable needs no value if the module under test has a default for it, or if other runs set it.
func (v *variables) checkDeclared(ctx context.Context, env *engine.Env) error {
	values, needed := map[string]engine.Variable{}, maps.Clone(v.file.Declared)
	var errs tfdiags.Diagnostics
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		value, err := v.value(variable{name, fromRun})
		inModule := v.module.Variables[name]
		sets := func(r *configs.TestRun) bool { return r.Variables[name] != nil }
		switch {
		case err != nil:
			errs = errs.AppendError(err)
		case value != cty.NilVal:
			values[name] = engine.Variable{Value: value}
			if needed[name].Deprecated != "" {
				env.Warn(needed[name].DeprecationWarning())
			}
		case inModule != nil && !inModule.Required(), slices.ContainsFunc(v.file.Runs, sets):
			needed[name] = &configs.Variable{Name: name, Range: needed[name].Range, Nullable: configs.Opt[bool]{Value: true},
				Default: configs.Opt[cty.Value]{Value: cty.NullVal(cty.DynamicPseudoType), Set: true},
				Type:    configs.TypeConstraint{Type: cty.DynamicPseudoType, WithOptional: cty.DynamicPseudoType}}
		}
	}
	if len(needed) == 0 || errs.Err() != nil {
		return errs.Err()
	}
	cfg := configs.OnlyVariables(v.module.Dir, needed, &v.Suite.opts)
	_, err := engine.Plan(ctx, cfg, states.New(), env, &engine.PlanOptions{Variables: values})
	return err
}

// static returns the values with which the module is loaded before the run. A value that depends on
// outputs of earlier runs is unknown. If fallback is set, the variable then has the value from
// outside or its default, if there is one.
func (v *variables) static(fallback bool) map[string]configs.Given {
	out := maps.Clone(v.Variables)
	if out == nil {
		out = map[string]configs.Given{}
	}
	for name := range v.file.Declared {
		value, err := v.ofRun(name)
		if err == nil && value != cty.NilVal && v.module.Variables[name] != nil {
			out[name] = configs.Given{Val: v.shown(name, value)}
		}
	}
	for _, set := range []map[string]hcl.Expression{v.file.Variables, v.run.Variables} {
		for name := range set {
			declared := v.module.Variables[name]
			if declared == nil {
				continue
			}
			value, err := v.value(variable{name, fromRun})
			_, given := out[name]
			switch {
			case err == nil:
				out[name] = configs.Given{Val: v.shown(name, value)}
			case !fallback || !given && declared.Required():
				out[name] = configs.Given{Val: cty.DynamicVal}
			}
		}
	}
	return out
}

// value returns the value of a variable, or NilVal if it is not set. If the test file declares the
// variable, the value has the declared type and marks.
func (v *variables) value(at variable) (cty.Value, error) {
	if f := v.found[at]; f != nil {
		if f.busy {
			return cty.NilVal, tfdiags.Errorf("Circular variable values",
				"The value of variable %q depends on itself.", at.name)
		}
		return f.value, f.err
	}
	f := &found{busy: true}
	v.found[at] = f
	f.value, f.err = v.evaluate(at)
	f.busy = false
	if declared := v.file.Declared[at.name]; declared != nil && f.err == nil && f.value != cty.NilVal {
		f.secret = f.secret || declared.Sensitive.Value
		f.value, f.err = declared.Final(f.value)
		if f.err != nil {
			f.err = tfdiags.Errorf("Invalid value for input variable", "The value of the variable %q is not what the test "+
				"file declares: %s.", at.name, tfdiags.FormatError(f.err)).At(declared.Range)
		}
	}
	return f.value, f.err
}

func (v *variables) evaluate(at variable) (cty.Value, error) {
	if expr := v.expr(at); expr != nil {
		return v.eval(expr, at)
	}
	if at.level > fromOutside {
		return v.from(variable{at.name, at.level - 1}, at)
	}
	given, ok := v.Variables[at.name]
	if !ok {
		return cty.NilVal, nil
	}
	if list := v.declarations(at.name); len(list) > 0 {
		return given.Value(list[0])
	}
	if given.Expr != nil {
		value, diags := given.Expr.Value(nil)
		return value, tfdiags.FromHCL(diags).Err()
	}
	return cty.StringVal(given.Text), nil
}

// declarations returns the declarations of a variable: that of the test file before that of the
// module.
func (v *variables) declarations(name string) []*configs.Variable {
	return slices.DeleteFunc([]*configs.Variable{v.file.Declared[name], v.module.Variables[name]},
		func(declared *configs.Variable) bool { return declared == nil })
}

// from returns the value of a variable for the evaluation of another.
func (v *variables) from(at, user variable) (cty.Value, error) {
	value, err := v.value(at)
	v.found[user].secret = v.found[user].secret || v.found[at].secret
	return value, err
}

func (v *variables) expr(at variable) hcl.Expression {
	switch at.level {
	case fromRun:
		return v.run.Variables[at.name]
	case fromFile:
		return v.file.Variables[at.name]
	}
	return nil
}

// eval evaluates the expression that defines a variable. The expression may refer to other
// variables and the outputs of earlier runs.
func (v *variables) eval(expr hcl.Expression, at variable) (cty.Value, error) {
	vars, err := v.referred(funcs.Variables(expr), at)
	if err != nil {
		return cty.DynamicVal, err
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"var": cty.ObjectVal(vars), "run": v.runsObject()},
		Functions: v.functions()}
	value, diags := expr.Value(ctx)
	return value, tfdiags.FromHCL(diags).Err()
}

// referred returns the values of the variables that an expression refers to, by name. from is the
// variable that the expression defines.
func (v *variables) referred(traversals []hcl.Traversal, from variable) (map[string]cty.Value, error) {
	var errs tfdiags.Diagnostics
	vars := map[string]cty.Value{}
	for _, tr := range traversals {
		name := secondName(tr)
		switch root := tr.RootName(); {
		case root == "run" && (name != "" || len(tr) > 1):
			errs = errs.AppendError(v.checkOutput(tr))
		case root == "run":
		case root == "var" && name != "":
			value, err := v.variableFor(name, from, tr.SourceRange())
			vars[name], errs = value, errs.AppendError(err)
		default:
			errs = append(errs, tfdiags.Errorf("Invalid reference",
				"Variables of tests can refer to other variables (var.NAME) and to outputs of earlier runs "+
					"(run.NAME.OUTPUT); %s can't be referred to here.", root).At(tr.SourceRange()))
		}
	}
	return vars, errs.Err()
}

func secondName(tr hcl.Traversal) string {
	if len(tr) > 1 {
		if attr, ok := tr[1].(hcl.TraverseAttr); ok {
			return attr.Name
		}
	}
	return ""
}

// variableFor returns the value of var.NAME in an expression. from is the variable that the
// expression defines. The value comes from the first of these sources that has one: the command
// line and variable files, the test file, the same block, the default in the test file's declaration, the
// default in the module.
func (v *variables) variableFor(name string, from variable, at hcl.Range) (cty.Value, error) {
	for level := fromOutside; level <= from.level; level++ {
		where := variable{name, level}
		if where == from {
			break // the expression of a variable may refer to the variable's own value from an earlier source
		}
		value, err := v.from(where, from)
		if err != nil || value != cty.NilVal {
			return value, placed(err, at)
		}
	}
	for _, declared := range v.declarations(name) {
		if !declared.Default.Set {
			continue
		}
		if declared == v.module.Variables[name] {
			return declared.Default.Value, nil
		}
		v.found[from].secret = v.found[from].secret || declared.Sensitive.Value
		return declared.Final(cty.NilVal)
	}
	return cty.DynamicVal, tfdiags.Errorf("Reference to undefined variable",
		"The variable %q has no value here. Set it with -var, in a variable file or in the variables block of the "+
			"test file, or give it a default in the module.", name).At(at)
}

// placed sets the source range of diagnostics that don't have one.
func placed(err error, at hcl.Range) error {
	return tfdiags.MapError(err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
		return diags.Map(func(d *tfdiags.Diagnostic) {
			if d.Subject == nil {
				d.Subject = &at
			}
		})
	})
}

// runsObject returns the value of the object "run": the outputs of all runs so far.
func (f *fileRun) runsObject() cty.Value {
	attrs := make(map[string]cty.Value, len(f.outputs))
	for name, o := range f.outputs {
		attrs[name] = o.object()
	}
	return cty.ObjectVal(attrs)
}

// checkRun returns an error if a run has not been executed.
func (f *fileRun) checkRun(name string, at hcl.Range) error {
	if _, ok := f.outputs[name]; ok {
		return nil
	}
	why := fmt.Sprintf("This file has no run %q.", name)
	if slices.ContainsFunc(f.file.Runs, func(r *configs.TestRun) bool { return r.Name == name }) {
		why = fmt.Sprintf("The run %q has not been executed yet. Only outputs of earlier runs can be used.", name)
	}
	return tfdiags.Errorf("Reference to unknown run", "%s", why).At(at)
}

// checkOutput returns an error if a reference run.NAME or run.NAME.OUTPUT is to a run that has not been
// executed, or to a value that a plan doesn't know.
func (f *fileRun) checkOutput(tr hcl.Traversal) error {
	name := secondName(tr)
	if err := f.checkRun(name, tr.SourceRange()); err != nil {
		return err
	}
	value, diags := tr[2:].TraverseRel(f.outputs[name].object())
	if diags.HasErrors() || value.IsWhollyKnown() {
		return nil // evaluating the expression reports errors
	}
	return tfdiags.Errorf("Reference to unknown value",
		"The run %q only plans, and the value is known only after an apply. Change its command to apply.", name,
	).At(tr.SourceRange())
}
