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

// Value is the interpreted value of a root module variable.
type Value struct {
	Value cty.Value  // before conversion to the variable's type
	Range *hcl.Range // range in the file; nil if the value is not from a file
	From  string     // the source, for messages
}

// maxUndeclared limits the number of separate warnings about undeclared variables.
const maxUndeclared = 2

// Values interprets the values of the root module's variables. Variables without a value are
// omitted; Missing returns those that are required.
func Values(
	given map[string]configs.Given, variables map[string]*configs.Variable, warn tfdiags.Sink,
) (map[string]Value, error) {
	var errs tfdiags.Diagnostics
	out := map[string]Value{}
	undeclared, declaredNames := 0, slices.Sorted(maps.Keys(variables))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		g := given[name]
		v, declared := variables[name]
		if !declared {
			if g.Undeclared == configs.UndeclaredWarning {
				undeclared++
			}
			suggestion := suggest.DidYouMean(name, declaredNames)
			errs = errs.AppendError(undeclaredValue(name, suggestion, g, undeclared, warn))
			continue
		}
		val, err := g.Value(v)
		if err != nil {
			errs = errs.AppendError(err)
			continue
		}
		one := Value{Value: val, From: g.From}
		if g.Range.Filename != "" {
			one.Range = &g.Range
		}
		out[name] = one
		if v.Deprecated != "" {
			warn(v.DeprecationWarning())
		}
	}
	if undeclared > maxUndeclared {
		warn(tfdiags.Warningf("Values for undeclared variables",
			"Variables files also set values for other undeclared variables (%d). To silence these warnings, set the "+
				"values with TF_VAR_ environment variables.", undeclared-maxUndeclared))
	}
	return out, errs.Err()
}

func undeclaredValue(name, suggestion string, g configs.Given, count int, warn tfdiags.Sink) error {
	switch {
	case g.Undeclared == configs.UndeclaredError:
		return tfdiags.Errorf("Value for undeclared variable",
			"The root module has no variable %q, but %s sets it.%s Declare it in a \"variable\" block, or "+
				"remove the value.", name, g.From, suggestion)
	case g.Undeclared == configs.UndeclaredWarning && count <= maxUndeclared:
		where := ""
		if g.Range.Filename != "" {
			where = fmt.Sprintf(", line %d,", g.Range.Start.Line)
		}
		warn(tfdiags.Warningf("Value for undeclared variable",
			"The root module has no variable %q, but %s%s sets it.%s Declare it in a \"variable\" block, or "+
				"remove the value.", name, g.From, where, suggestion))
	}
	return nil
}

// Missing returns the required variables without a value, sorted by name. Commands prompt for them.
func Missing(values map[string]Value, variables map[string]*configs.Variable) []*configs.Variable {
	var out []*configs.Variable
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if _, ok := values[name]; !ok && variables[name].Required() {
			out = append(out, variables[name])
		}
	}
	return out
}
