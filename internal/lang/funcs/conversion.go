package funcs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/coerce"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// Conversions to collections have no fixed element type: they use any type to which all elements
// can be converted.
var (
	toboolFunc = toFunc(cty.Bool,
		"`tobool` converts true, false, \"true\", \"false\" or null to a boolean.")
	tolistFunc = toFunc(cty.List(cty.DynamicPseudoType),
		"`tolist` converts a collection to a list with elements of one type.")
	tomapFunc = toFunc(cty.Map(cty.DynamicPseudoType),
		"`tomap` converts a map or object to a map with elements of one type.")
	tonumberFunc = toFunc(cty.Number,
		"`tonumber` converts a string to a number.")
	tosetFunc = toFunc(cty.Set(cty.DynamicPseudoType),
		"`toset` converts a collection to a set with elements of one type, without order and duplicates.")
	tostringFunc = toFunc(cty.String,
		"`tostring` converts a number or boolean to a string.")
)

// toFunc returns a function that converts to one type. Unlike stdlib.MakeToFunc of cty, it doesn't
// move the marks of elements to the collection, so a secret in a map doesn't make the whole map
// secret. Only sets take over the marks of their elements.
func toFunc(want cty.Type, desc string) function.Function {
	return function.New(&function.Spec{
		Description: desc,
		Params: []function.Parameter{{
			Name: "v", Type: cty.DynamicPseudoType,
			AllowNull: true, AllowMarked: true, AllowDynamicType: true, AllowUnknown: true,
			Description: "The value.",
		}},
		Type: func(args []cty.Value) (cty.Type, error) {
			got := args[0].Type()
			if coerce.Convertible(got, want) {
				return want, nil
			}
			return cty.NilType, function.NewArgErrorf(0, "cannot convert %s to %s: %s",
				got.FriendlyName(), want.FriendlyNameForConstraint(), convert.MismatchMessage(got, want))
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			// cty's conversion would keep refinements, such as a length or prefix, that may not
			// hold for the converted value.
			if v, ms := args[0].Unmark(); !v.IsKnown() {
				return cty.UnknownVal(want).WithMarks(ms), nil
			}
			v, err := coerce.Convert(args[0], want)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, conversionError(args[0], want, err))
			}
			return v, nil
		},
	})
}

// conversionError returns the error for a value that can't be converted although its type can.
func conversionError(v cty.Value, want cty.Type, err error) error {
	if errors.Is(err, coerce.ErrLongNumber) {
		return err
	}
	if v.Type() != cty.String {
		return fmt.Errorf("cannot convert %s to %s: %s", v.Type().FriendlyName(), want.FriendlyNameForConstraint(),
			tfdiags.FormatError(err))
	}
	what := "the given string"
	if !v.IsMarked() && v.IsKnown() && !v.IsNull() {
		what = strconv.Quote(v.AsString())
	}
	switch want {
	case cty.Bool:
		return fmt.Errorf(`cannot convert %s to bool; it must be "true", "false", "1" or "0"`, what)
	case cty.Number:
		return fmt.Errorf("cannot convert %s to number; it must be a number in decimal notation", what)
	default:
		return fmt.Errorf("cannot convert %s to %s: %w", what, want.FriendlyNameForConstraint(), err)
	}
}

// The arguments of tryFunc and canFunc are expressions. The return type of tryFunc is dynamic. To
// determine its exact type, each expression would have to be evaluated twice, once for the type and
// once for the value, which takes exponential time in nested calls.

var tryFunc = function.New(&function.Spec{
	Description: "`try` returns the first of its arguments that can be evaluated.",
	VarParam: &function.Parameter{
		Name: "expressions", Type: customdecode.ExpressionClosureType, Description: "The expressions.",
	},
	Type: function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if len(args) == 0 {
			return cty.NilVal, errors.New("at least one argument is required")
		}
		var failures hcl.Diagnostics
		for _, arg := range args {
			v, diags := customdecode.ExpressionClosureFromVal(arg).Value()
			switch {
			// An expression that fails with unknown values also fails once they are known.
			case diags.HasErrors():
				failures = append(failures, diags...)
			case v.IsWhollyKnown():
				return v, nil
			default:
				// Once the values are known, this expression may fail. The result would then be
				// another argument, possibly of another type.
				return cty.DynamicVal, nil
			}
		}
		return cty.NilVal, tryError(failures)
	},
})

// tryError lists the errors of all arguments, because the user may have expected any of them to
// succeed.
func tryError(failures hcl.Diagnostics) error {
	var b strings.Builder
	b.WriteString("no expression succeeded:\n")
	for _, diag := range failures {
		b.WriteString("- " + diag.Summary)
		if diag.Subject != nil {
			fmt.Fprintf(&b, " (at %s)", diag.Subject)
		}
		fmt.Fprintf(&b, "\n  %s\n", diag.Detail)
	}
	return errors.New(strings.TrimSuffix(b.String(), "\n"))
}

// canFunc returns an unknown value if the result is not wholly known, because the expression may
// still fail when its values are known.
var canFunc = function.New(&function.Spec{
	Description: "`can` reports whether an expression can be evaluated without errors.",
	Params: []function.Parameter{
		{Name: "expression", Type: customdecode.ExpressionClosureType, Description: "The expression."},
	},
	Type: function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v, diags := customdecode.ExpressionClosureFromVal(args[0]).Value()
		switch {
		case diags.HasErrors():
			return cty.False, nil
		case v.IsWhollyKnown():
			return cty.True, nil
		default:
			return cty.UnknownVal(cty.Bool), nil
		}
	},
})

// anyValue returns a parameter that accepts all values unchanged, including marked ones.
func anyValue(desc string) []function.Parameter {
	return []function.Parameter{{
		Name:             "value",
		Type:             cty.DynamicPseudoType,
		AllowUnknown:     true,
		AllowNull:        true,
		AllowMarked:      true,
		AllowDynamicType: true,
		Description:      desc,
	}}
}

// sameType is the type function for functions whose result has the type of their argument.
func sameType(args []cty.Value) (cty.Type, error) {
	return args[0].Type(), nil
}

// Functions for marks affect only the value itself and not the values inside it, except for
// ephemeralasnull.

var sensitiveFunc = function.New(&function.Spec{
	Description: "`sensitive` returns its argument marked as sensitive, so that it is not shown.",
	Params:      anyValue("The value to hide."),
	Type:        sameType,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return args[0].Mark(marks.Sensitive), nil
	},
})

var nonsensitiveFunc = function.New(&function.Spec{
	Description: "`nonsensitive` returns its argument without the mark that hides it. Marks of values inside it stay.",
	Params:      anyValue("The value to show."),
	Type:        sameType,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v, ms := args[0].Unmark()
		delete(ms, marks.Sensitive)
		return v.WithMarks(ms), nil
	},
})

var issensitiveFunc = function.New(&function.Spec{
	Description: "`issensitive` reports whether its argument is marked as sensitive.",
	Params:      anyValue("The value to check."),
	Type:        function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if !args[0].IsKnown() {
			// The value may have other marks once it is known.
			return cty.UnknownVal(cty.Bool), nil
		}
		return cty.BoolVal(marks.Has(args[0], marks.Sensitive)), nil
	},
})

var ephemeralasnullFunc = function.New(&function.Spec{
	Description: "`ephemeralasnull` returns its argument with all ephemeral values in it replaced by null.",
	Params:      anyValue("The value."),
	Type:        sameType,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if !marks.Contains(args[0], marks.Ephemeral) {
			return args[0], nil
		}
		return cty.Transform(args[0], func(_ cty.Path, v cty.Value) (cty.Value, error) {
			if !marks.Has(v, marks.Ephemeral) {
				return v, nil
			}
			_, ms := v.Unmark()
			delete(ms, marks.Ephemeral)
			if !v.IsKnown() { // refinements such as "not null" don't hold for the result
				return cty.UnknownVal(v.Type()).WithMarks(ms), nil
			}
			return cty.NullVal(v.Type()).WithMarks(ms), nil
		})
	},
})

// Functions of old versions that were replaced by conversions. Some configurations still call them.
var (
	listFunc = removedFunc("list", "tolist([ ... ])")
	mapFunc  = removedFunc("map", "tomap({ ... })")
)

// removedFunc returns a function that fails with an error that names its replacement.
func removedFunc(name, instead string) function.Function {
	return function.New(&function.Spec{
		Description: fmt.Sprintf("`%s` no longer exists; use `%s`.", name, instead),
		VarParam: &function.Parameter{
			Name: "vals", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowNull: true, AllowDynamicType: true,
			Description: "Ignored.",
		},
		Type: func([]cty.Value) (cty.Type, error) {
			return cty.NilType, fmt.Errorf("the function %q no longer exists; use %s instead", name, instead)
		},
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			return cty.NilVal, fmt.Errorf("the function %q no longer exists; use %s instead", name, instead)
		},
	})
}
