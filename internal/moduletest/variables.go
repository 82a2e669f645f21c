package moduletest

import (
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
		value, err := v.ofRun(name)
		switch {
		case err != nil:
			errs = errs.AppendError(err)
		case value != cty.NilVal:
			// The module, not the test, decides which variables are sensitive.
			out[name] = engine.Variable{Value: withoutSensitive(value)}
		case v.module.Variables[name].Required():
			errs = append(errs, tfdiags.Errorf("No value for required variable",
				"The module under test requires the variable %q, which has no value in the run %q. Set it in a "+
					"variables block of the run or the file, with -var, or in a variable file.",
				name, v.run.Name).At(v.module.Variables[name].Range))
		}
	}
	return out, errs.Err()
}

// ofRun returns the value that a variable has in the run, or NilVal if it is not set.
func (v *variables) ofRun(name string) (cty.Value, error) {
	value, err := v.value(variable{name, fromRun})
	if declared := v.file.Declared[name]; value == cty.NilVal && err == nil && declared != nil && declared.Default.Set {
		return declared.Default.Value, nil
	}
	return value, err
}

// static returns the values with which the module is loaded before the run. A value that depends on
// outputs of earlier runs is unknown. If fallback is set, the variable then has the value from
// outside or its default, if there is one.
func (v *variables) static(fallback bool) map[string]configs.Given {
	out := maps.Clone(v.Variables)
	if out == nil {
		out = map[string]configs.Given{}
	}
	for name, declared := range v.file.Declared {
		if _, given := out[name]; !given && declared.Default.Set && v.module.Variables[name] != nil {
			out[name] = configs.Given{Val: declared.Default.Value}
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
				out[name] = configs.Given{Val: withoutSensitive(value)}
			case !fallback || !given && declared.Required():
				out[name] = configs.Given{Val: cty.DynamicVal}
			}
		}
	}
	return out
}

func withoutSensitive(v cty.Value) cty.Value { return marks.Without(v, marks.Sensitive) }

// value returns the value of a variable, or NilVal if it is not set.
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
	return f.value, f.err
}

func (v *variables) evaluate(at variable) (cty.Value, error) {
	if expr := v.expr(at); expr != nil {
		return v.eval(expr, at)
	}
	if at.level > fromOutside {
		return v.value(variable{at.name, at.level - 1})
	}
	given, ok := v.Variables[at.name]
	if !ok {
		return cty.NilVal, nil
	}
	if declared := v.file.Declared[at.name]; declared != nil {
		value, err := given.Value(declared)
		if err != nil {
			return value, err
		}
		if value, err = declared.Type.Convert(value); err != nil {
			err = tfdiags.Errorf("Invalid value for input variable", "The value of the variable %q is not what the test "+
				"file declares: %s.", at.name, tfdiags.FormatError(err)).At(declared.Range)
		}
		return value, err
	}
	if declared := v.module.Variables[at.name]; declared != nil {
		return given.Value(declared)
	}
	if given.Expr != nil {
		value, diags := given.Expr.Value(nil)
		return value, tfdiags.FromHCL(diags).Err()
	}
	return cty.StringVal(given.Text), nil
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
			errs = errs.AppendError(v.checkRun(name, tr.SourceRange()))
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
		value, err := v.value(where)
		if err != nil || value != cty.NilVal {
			return value, placed(err, at)
		}
	}
	for _, declared := range []*configs.Variable{v.file.Declared[name], v.module.Variables[name]} {
		if declared != nil && declared.Default.Set {
			return declared.Default.Value, nil
		}
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

// runsObject returns the value of the object "run": the outputs of all runs that have applied
// changes so far.
func (f *fileRun) runsObject() cty.Value {
	attrs := make(map[string]cty.Value, len(f.outputs))
	for name, o := range f.outputs {
		attrs[name] = o.object()
	}
	return cty.ObjectVal(attrs)
}

// checkRun returns an error if the outputs of a run are not available.
func (f *fileRun) checkRun(name string, at hcl.Range) error {
	if _, ok := f.outputs[name]; ok {
		return nil
	}
	isNamed := func(r *configs.TestRun) bool { return r.Name == name }
	why := fmt.Sprintf("This file has no run %q.", name)
	switch {
	case f.planned[name]:
		why = fmt.Sprintf("The run %q only plans. Only outputs of runs with command = apply can be used.", name)
	case slices.ContainsFunc(f.file.Runs, isNamed):
		why = fmt.Sprintf("The run %q has not been executed yet. Only outputs of earlier runs can be used.", name)
	}
	return tfdiags.Errorf("Reference to unknown run", "%s", why).At(at)
}
