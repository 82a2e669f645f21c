package session

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs"
	"tofu/internal/configs/inputs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

// asker asks the user for values of root variables.
type asker struct {
	term    *terminal.Terminal
	allowed bool // whether the user may be asked
}

// ask returns the user's answer, or [terminal.ErrNoInput] if the user may not be asked.
func (a asker) ask(ctx context.Context, v *configs.Variable) (configs.Given, error) {
	if !a.allowed {
		return configs.Given{}, terminal.ErrNoInput
	}
	answer, err := a.term.Ask(ctx, terminal.Question{Title: "var." + v.Name, Text: v.Description.Value,
		Secret: v.Sensitive.Value || v.Ephemeral.Value})
	if err != nil {
		return configs.Given{}, err
	}
	return configs.Given{Text: answer, From: "the answer to the prompt"}, nil
}

// PlanVariables returns the values of variables that must be set again to apply a saved plan. If
// the user may be asked, it asks for missing values of ephemeral variables, because plans don't
// store them.
func (l *Config) PlanVariables(
	ctx context.Context, s *Session, plan *plans.Plan,
) (map[string]engine.Variable, error) {
	var errs tfdiags.Diagnostics
	values, err := inputs.Values(l.Given, l.Module.Variables, s.Warnings.Add)
	errs = errs.AppendError(err)
	out := make(map[string]engine.Variable, len(values))
	for name, v := range values {
		out[name] = engine.Variable{Value: v.Value, Range: v.Range, From: v.From}
	}
	for _, v := range inputs.Missing(values, l.Module.Variables) {
		if _, needed := plan.EphemeralVariables[v.Name]; !needed || !s.Input {
			continue // the engine reports the missing value
		}
		given, err := asker{s.Terminal, s.Input}.ask(ctx, v)
		if err != nil {
			d := v.NoValue()
			d.Detail += " Asking for it failed: " + err.Error() + "."
			return nil, errs.Append(d).Err()
		}
		value, err := given.Value(v)
		errs = errs.AppendError(err)
		out[v.Name] = engine.Variable{Value: value}
	}
	return out, errs.Err()
}

// variableNeed decides what happens to required variables without a value.
type variableNeed uint8

const (
	NeedValues   variableNeed = iota // ask the user, or return an error
	AllowUnknown                     // treat the values as unknown
)

// Variables returns the values of the root module's variables. Unless need is AllowUnknown, it asks
// the user for missing values. If it returns an error, it also returns the valid values.
func (l *Config) Variables(
	ctx context.Context, s *Session, need variableNeed,
) (map[string]engine.Variable, error) {
	declared := l.Module.Variables
	var errs tfdiags.Diagnostics
	values, err := inputs.Values(l.Given, declared, s.Warnings.Add)
	errs = errs.AppendError(err)
	out := make(map[string]engine.Variable, len(declared))
	for name, v := range values {
		out[name] = engine.Variable{Value: v.Value, Range: v.Range, From: v.From}
	}
	for _, v := range inputs.Missing(values, declared) {
		if _, broken := l.Given[v.Name]; broken { // parsing has reported the error
			if need == NeedValues {
				errs = errs.Append(v.NoValue())
			}
			continue
		}
		if need == AllowUnknown {
			out[v.Name] = engine.Variable{Value: cty.UnknownVal(v.Type.Type)}
			continue
		}
		given, err := asker{s.Terminal, s.Input}.ask(ctx, v)
		if err != nil {
			d := v.NoValue()
			if !errors.Is(err, terminal.ErrNoInput) {
				d.Detail += " Asking for it failed: " + err.Error() + "."
			}
			errs = errs.Append(d)
			continue
		}
		value, err := given.Value(v)
		errs = errs.AppendError(err)
		out[v.Name] = engine.Variable{Value: value}
	}
	return out, errs.Err()
}

// Convertible returns an error for each value that does not fit the type of its variable.
func (l *Config) Convertible(values map[string]engine.Variable) error {
	var errs tfdiags.Diagnostics
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := l.Module.Variables[name]
		if v == nil || !values[name].Value.IsKnown() {
			continue
		}
		if _, err := v.Final(values[name].Value); err != nil {
			from := ""
			if at := values[name].Range; at != nil {
				from = " at " + tfdiags.Place(*at)
			}
			errs = append(errs, tfdiags.Errorf("Invalid value for input variable",
				"The value given%s for the variable %q does not fit its type: %s.", from, name,
				tfdiags.FormatError(err)).At(v.Range))
		}
	}
	return errs.Err()
}
