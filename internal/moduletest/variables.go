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
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// functionTable makes the functions that expressions of test files can call, when they are first needed.
type functionTable func() map[string]function.Function

func newFunctionTable() functionTable {
	return sync.OnceValue(func() map[string]function.Function { return funcs.Table(funcs.Options{}) })
}

// outputs are a run's outputs by name.
type outputs map[string]cty.Value

func outputsOf(st *states.State) outputs {
	out := outputs{}
	for _, name := range st.OutputNames() {
		o := st.Output(name)
		out[name] = o.Value
		if o.Sensitive {
			out[name] = o.Value.Mark(marks.Sensitive)
		}
	}
	return out
}

func (o outputs) object() cty.Value { return cty.ObjectVal(o) }

// level is how strong a source of values is.
type level uint8

const (
	fromOutside level = iota // the command line and variable files
	fromFile
	fromRun
)

// variables finds the values of variables as one run sees them. Expressions are evaluated when something needs them, so that a
// value that nobody reads can do no harm.
type variables struct {
	*fileRun
	run    *configs.TestRun
	module *configs.Module
	found  map[variable]*found
}

// variable is a variable as a source of that level says it, or a weaker one where that says nothing.
type variable struct {
	name  string
	level level
}

type found struct {
	value cty.Value // NilVal: nothing says it
	diags tfdiags.Diagnostics
	busy  bool
}

func newVariables(f *fileRun, run *configs.TestRun, module *configs.Module) *variables {
	return &variables{fileRun: f, run: run, module: module, found: map[variable]*found{}}
}

// forModule gives the values of the variables that the module declares.
func (v *variables) forModule() (map[string]engine.Variable, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	out := map[string]engine.Variable{}
	for _, name := range slices.Sorted(maps.Keys(v.module.Variables)) {
		value, more := v.value(variable{name, fromRun})
		diags = append(diags, more...)
		switch {
		case more.HasErrors():
		case value != cty.NilVal:
			// What is secret in a test's own values is the module's business: it declares that.
			out[name] = engine.Variable{Value: withoutSensitive(value)}
		case v.module.Variables[name].Required():
			diags = append(diags, tfdiags.Errorf("No value for required variable",
				"The module under test requires the variable %q, which neither the run %q nor the file nor "+
					"the command line gives a value.",
				name, v.run.Name).At(v.module.Variables[name].Range))
		}
	}
	return out, diags
}

func withoutSensitive(v cty.Value) cty.Value { return marks.Without(v, marks.Sensitive) }

// value gives a variable's value, NilVal when nothing says it.
func (v *variables) value(at variable) (cty.Value, tfdiags.Diagnostics) {
	if f := v.found[at]; f != nil {
		if f.busy {
			return cty.NilVal, tfdiags.Errorf("Variables that need each other",
				"The value of variable %q depends on itself.", at.name).List()
		}
		return f.value, f.diags
	}
	f := &found{busy: true}
	v.found[at] = f
	f.value, f.diags = v.evaluate(at)
	f.busy = false
	return f.value, f.diags
}

func (v *variables) evaluate(at variable) (cty.Value, tfdiags.Diagnostics) {
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
	if declared := v.module.Variables[at.name]; declared != nil {
		return given.Value(declared)
	}
	if given.Expr != nil {
		value, diags := given.Expr.Value(nil)
		return value, tfdiags.FromHCL(diags)
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

// eval evaluates the expression of a variable. It may use other variables and the outputs of earlier runs.
func (v *variables) eval(expr hcl.Expression, at variable) (cty.Value, tfdiags.Diagnostics) {
	vars, diags := v.referred(funcs.Variables(expr), at)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"var": cty.ObjectVal(vars), "run": v.runsObject()},
		Functions: v.functions()}
	value, hclDiags := expr.Value(ctx)
	return value, diags.AppendHCL(hclDiags)
}

// referred finds what an expression refers to.
func (v *variables) referred(traversals []hcl.Traversal, from variable) (map[string]cty.Value, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	vars := map[string]cty.Value{}
	for _, tr := range traversals {
		name := secondName(tr)
		switch root := tr.RootName(); {
		case root == "run" && (name != "" || len(tr) > 1):
			diags = append(diags, v.checkRun(name, tr.SourceRange())...)
		case root == "run":
		case root == "var" && name != "":
			value, more := v.variableFor(name, from, tr.SourceRange())
			vars[name], diags = value, append(diags, more...)
		default:
			diags = append(diags, tfdiags.Errorf("Invalid reference",
				"Variables of tests can refer to other variables (var.NAME) and to outputs of earlier runs "+
					"(run.NAME.OUTPUT); %s can't be referred to here.", root).At(tr.SourceRange()))
		}
	}
	return vars, diags
}

func secondName(tr hcl.Traversal) string {
	if len(tr) > 1 {
		if attr, ok := tr[1].(hcl.TraverseAttr); ok {
			return attr.Name
		}
	}
	return ""
}

// variableFor gives what var.NAME means in the expression of a variable: what the outside says, or the file, or what stands beside
// it in the same block, or the module's default.
func (v *variables) variableFor(name string, from variable, at hcl.Range) (cty.Value, tfdiags.Diagnostics) {
	for level := fromOutside; level <= from.level; level++ {
		where := variable{name, level}
		if where == from {
			break // a variable's own expression may build on a weaker value of it
		}
		value, diags := v.value(where)
		if diags.HasErrors() || value != cty.NilVal {
			return value, placed(diags, at)
		}
	}
	if declared := v.module.Variables[name]; declared != nil && declared.Default.Set {
		return declared.Default.Value, nil
	}
	return cty.DynamicVal, tfdiags.Errorf("Reference to undefined variable",
		"Nothing gives the variable %q a value.", name).At(at).List()
}

// placed gives a place to diagnostics that have none. What was found before stays as it is: each use of it has a place of its own.
func placed(diags tfdiags.Diagnostics, at hcl.Range) tfdiags.Diagnostics {
	return diags.Map(func(d *tfdiags.Diagnostic) {
		if d.Subject == nil {
			d.Subject = &at
		}
	})
}

// runsObject is what run means: the outputs of all runs so far.
func (f *fileRun) runsObject() cty.Value {
	attrs := make(map[string]cty.Value, len(f.outputs))
	for name, o := range f.outputs {
		attrs[name] = o.object()
	}
	return cty.ObjectVal(attrs)
}

// checkRun says why a run's outputs can't be used; nothing when they can.
func (f *fileRun) checkRun(name string, at hcl.Range) tfdiags.Diagnostics {
	if _, ok := f.outputs[name]; ok {
		return nil
	}
	why := fmt.Sprintf("This file has no run %q.", name)
	switch {
	case f.planned[name]:
		why = fmt.Sprintf("The run %q only plans. Outputs can be used of runs with command = apply.", name)
	case slices.ContainsFunc(f.file.Runs, func(r *configs.TestRun) bool { return r.Name == name }):
		why = fmt.Sprintf("The run %q has not been executed yet. Only outputs of earlier runs can be used.", name)
	}
	return tfdiags.Errorf("Reference to unknown run", "%s", why).At(at).List()
}
