package inputs

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// Value is an interpreted value of a root variable.
type Value struct {
	Value cty.Value  // not converted to the variable's type yet
	Range *hcl.Range // where it is written; nil outside files
	From  string     // the origin, for messages
}

// maxUndeclared bounds how many undeclared names are warned of one by one.
const maxUndeclared = 2

// Values interprets what was given for the variables of the root module. Variables that nothing was given for are left to their
// defaults; where there is none, see Missing.
func Values(given map[string]configs.Given, variables map[string]*configs.Variable) (map[string]Value, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	out := map[string]Value{}
	undeclared, declaredNames := 0, slices.Sorted(maps.Keys(variables))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		g := given[name]
		v, declared := variables[name]
		if !declared {
			if g.Undeclared == configs.UndeclaredWarning {
				undeclared++
			}
			diags = append(diags, undeclaredValue(name, suggest.DidYouMean(name, declaredNames), g, undeclared)...)
			continue
		}
		val, more := g.Value(v)
		diags = append(diags, more...)
		if more.HasErrors() {
			continue
		}
		one := Value{Value: val, From: g.From}
		if g.Range.Filename != "" {
			one.Range = &g.Range
		}
		out[name] = one
		if v.Deprecated != "" {
			diags = append(diags, tfdiags.Warningf("Variable marked as deprecated", "%s", v.DeprecationText()).At(v.Range))
		}
	}
	if undeclared > maxUndeclared {
		diags = append(diags, tfdiags.Warningf("Values for undeclared variables",
			"%d other variables are set in variables files without being declared. To silence these warnings, give the values with TF_VAR_ environment variables.", undeclared-maxUndeclared))
	}
	return out, diags
}

func undeclaredValue(name, meant string, g configs.Given, count int) tfdiags.Diagnostics {
	switch {
	case g.Undeclared == configs.UndeclaredError:
		return tfdiags.Errorf("Value for undeclared variable",
			"There is no variable %q in the root module, but %s gives it a value.%s Declare it in a \"variable\" block, or leave out the value.", name, g.From, meant).List()
	case g.Undeclared == configs.UndeclaredWarning && count <= maxUndeclared:
		where := ""
		if g.Range.Filename != "" {
			where = fmt.Sprintf(", line %d,", g.Range.Start.Line)
		}
		return tfdiags.Warningf("Value for undeclared variable",
			"There is no variable %q in the root module, but %s%s gives it a value.%s Declare it in a \"variable\" block, or leave out the value.", name, g.From, where, meant).List()
	}
	return nil
}

// Missing lists the required variables without a value, by name: those to ask for.
func Missing(values map[string]Value, variables map[string]*configs.Variable) []*configs.Variable {
	var out []*configs.Variable
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if _, ok := values[name]; !ok && variables[name].Required() {
			out = append(out, variables[name])
		}
	}
	return out
}
