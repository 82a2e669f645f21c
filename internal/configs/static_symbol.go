package configs

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/limits"
	"tofu/internal/tfdiags"
)

// If a symbol has more than maxRepeated diagnostics, they are not repeated for each further user of
// the symbol. The first user always gets all of them. Without a limit, a chain of symbols that each
// use the previous one twice would double the diagnostics at each step.
const maxRepeated = 20

// symbol returns the static value of a declared variable or local value. If it can't be computed,
// the error also names the setting that needs the symbol.
func (d *staticData) symbol(subject addrs.Referenceable) (cty.Value, error) {
	s := d.scope
	result, known := s.memo[subject]
	switch {
	case !known && s.env.depth >= limits.Depth:
		return cty.DynamicVal, tfdiags.Errorf("Chain of references too long",
			"%s is reached through a chain of more than %d references.", s.name(subject.String()),
			limits.Depth).At(s.declared(subject))
	case !known:
		s.env.depth++
		defer func() { s.env.depth-- }()
		result = &staticResult{value: cty.DynamicVal, busy: true}
		s.memo[subject] = result
		value, err := s.evaluate(subject)
		result.value, result.errs = value, tfdiags.FromError(err)
		result.busy = false
	case result.busy: // the symbol is already under evaluation further up the stack, so there is a cycle
		return cty.DynamicVal, tfdiags.Errorf("Circular reference",
			"%s refers to itself, directly or through other values.",
			s.name(subject.String())).At(s.declared(subject))
	}
	var errs tfdiags.Diagnostics
	if !known || len(result.errs) <= maxRepeated {
		errs = result.errs
	}
	if len(result.errs) == 0 || result.unsuitable {
		return result.value, errs.Err()
	}
	unable := tfdiags.Errorf("Unable to compute static value",
		"%s depends on %s, which is not available.", d.user, s.name(subject.String()))
	if d.at.Filename != "" {
		unable = unable.At(d.at)
	}
	return cty.DynamicVal, tfdiags.Join(errs.Err(), unable)
}

// declared returns the position of a symbol's declaration.
func (s *staticScope) declared(subject addrs.Referenceable) hcl.Range {
	if local, ok := subject.(addrs.LocalValue); ok {
		return s.cfg.Module.Locals[local.Name].Range
	}
	return s.cfg.Module.Variables[subject.(addrs.InputVariable).Name].Range
}

// evaluate computes the value of a symbol.
func (s *staticScope) evaluate(subject addrs.Referenceable) (cty.Value, error) {
	switch subject := subject.(type) {
	case addrs.LocalValue:
		local := s.cfg.Module.Locals[subject.Name]
		return s.eval(local.Expr, cty.DynamicPseudoType, subject.String(), local.Range)
	case addrs.InputVariable:
		v := s.cfg.Module.Variables[subject.Name]
		if given := s.env.given[v.Name]; v.Const.Value && s.cfg.Call == nil && len(given.Unknown) > 0 {
			return cty.DynamicVal, tfdiags.Errorf("Unknown value not allowed",
				"The variable %q is constant, so its value must be known before anything is planned. Give it a "+
					"value instead of -var-unknown.", v.Name).At(v.Range)
		}
		val, err := s.argument(v)
		if err != nil {
			return cty.DynamicVal, err
		}
		final, err := v.Final(val)
		if err != nil {
			// The error is reported only here, because users of the variable see an unknown value.
			s.memo[subject].unsuitable = true
			return final, tfdiags.Errorf("Invalid value for input variable",
				"The value given%s is not suitable for %s, which is declared at %s: %s.",
				s.origin(v), s.name(subject.String()), tfdiags.Place(v.Range), tfdiags.FormatError(err))
		}
		return final, nil
	}
	panic("unreachable: only variables and local values have static values")
}

// origin returns the origin of a root module variable's value, for messages.
func (s *staticScope) origin(v *Variable) string {
	if given := s.env.given[v.Name]; s.cfg.Call == nil && given.From != "" {
		return " by " + given.From
	}
	return ""
}

// argument returns the value set for a variable by the module call or, in the root module, by the
// user. It returns cty.NilVal if there is no value.
func (s *staticScope) argument(v *Variable) (cty.Value, error) {
	if s.cfg.Call != nil {
		return s.callArgument(v)
	}
	given, ok := s.env.given[v.Name]
	switch {
	case s.env.missing != nil && given.Undeclared != UndeclaredError: // what the command line sets is right
		return cty.DynamicVal, s.env.missing
	case ok:
		return given.Value(v)
	case v.Default.Set:
		return cty.NilVal, nil
	case s.env.unset:
		return cty.UnknownVal(v.Type.Type), nil
	case s.env.ask != nil:
		answer, err := s.env.ask(v)
		if err == nil {
			if s.env.given != nil {
				s.env.given[v.Name] = answer
			}
			return answer.Value(v)
		}
		return cty.DynamicVal, tfdiags.Errorf("No value for required variable",
			"The variable %[1]q has no value, and prompting for one failed: %[2]s. Set it with -var, -var-file, a .tfvars "+
				"file or the environment variable TF_VAR_%[1]s.", v.Name, err).At(v.Range)
	}
	return cty.DynamicVal, v.NoValue()
}

func (s *staticScope) callArgument(v *Variable) (cty.Value, error) {
	call := s.cfg.Call
	attrs, _ := call.Config.JustAttributes() // CheckArguments reports errors in arguments
	if attr, ok := attrs[v.Name]; ok {
		// The argument is evaluated in the caller's scope, but messages say that the variable needs
		// the value.
		parent := s.cfg.Parent.static
		user := s.name(addrs.InputVariable{Name: v.Name}.String())
		scope := parent.scope("", attr.Range)
		scope.Data.(*staticData).user = user
		return scope.EvalExpr(attr.Expr, cty.DynamicPseudoType)
	}
	if v.Default.Set {
		return cty.NilVal, nil
	}
	return cty.DynamicVal, tfdiags.Errorf("Missing required variable in module call",
		"%s needs a value for the variable %q.", s.cfg.Path,
		v.Name).At(call.Config.MissingItemRange())
}
