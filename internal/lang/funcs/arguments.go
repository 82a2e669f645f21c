package funcs

import (
	"errors"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/coerce"
	"tofu/internal/lang/marks"
)

// Checked returns fn as expressions call it. All of the following is in one layer, because each
// layer makes a call determine the type of its result once more, and for decoders that means to
// decode the document.
//
// The type of a call with known arguments is that of its result; see typeOf.
//
//   - Errors don't show sensitive arguments.
//   - Collection parameters accept any type, and the call converts the arguments itself. HCL would
//     convert them before the call. For a tuple, this takes time quadratic in the number of elements.
//   - If fn has numbers as arguments or result, numbers with too many digits are errors.
//
// fn itself decides whether an argument may be null, unknown or marked.
func Checked(fn function.Function) function.Function {
	params, variadic := fn.Params(), fn.VarParam()
	types := make([]cty.Type, len(params), len(params)+1)
	collections, numbers, expressions := false, returnType(fn) == cty.Number, false
	accept := func(p *function.Parameter) cty.Type {
		ty := p.Type
		numbers, expressions = numbers || ty == cty.Number, expressions || ty.IsCapsuleType()
		if ty.IsCollectionType() {
			p.Type, collections = cty.DynamicPseudoType, true
		}
		p.AllowUnknown, p.AllowNull, p.AllowMarked, p.AllowDynamicType = true, true, true, true
		return ty
	}
	for i := range params {
		types[i] = accept(&params[i])
	}
	if variadic != nil {
		types = append(types, accept(variadic))
	}
	if expressions {
		return fn // try and can would evaluate their arguments more often, and call other functions for them
	}
	prepare := func(args []cty.Value) ([]cty.Value, error) {
		if !collections && !numbers {
			return args, nil
		}
		out := make([]cty.Value, len(args))
		for i, arg := range args {
			if numbers && arg.Type() == cty.Number && coerce.HasLongNumber(arg) {
				return nil, function.NewArgError(i, coerce.ErrLongNumber)
			}
			out[i] = arg
			if collections {
				var err error
				if out[i], err = coerce.Convert(arg, types[min(i, len(types)-1)]); err != nil {
					return nil, function.NewArgError(i, err)
				}
			}
		}
		return out, nil
	}
	return function.New(&function.Spec{
		Description: fn.Description(),
		Params:      params,
		VarParam:    variadic,
		Type: func(args []cty.Value) (cty.Type, error) {
			return typeOf(args, func(args []cty.Value) (ty cty.Type, err error) {
				prepared, err := prepare(args)
				if err == nil {
					ty, err = fn.ReturnTypeForValues(prepared)
				}
				return ty, hide(err, args)
			})
		},
		Impl: func(args []cty.Value, _ cty.Type) (v cty.Value, err error) {
			prepared, err := prepare(args)
			if err == nil {
				v, err = fn.Call(prepared)
			}
			if err == nil && numbers && v.Type() == cty.Number && coerce.HasLongNumber(v) {
				err = coerce.ErrLongNumber
			}
			return v, hide(err, args)
		},
	})
}

// typeOf returns the type of a call of a function that only calls another one. of returns the type
// that the inner function declares. If the arguments are known, the result decides the type: the inner
// function determines it anyway, and doing so in each layer would take as long as the call.
func typeOf(args []cty.Value, of func([]cty.Value) (cty.Type, error)) (cty.Type, error) {
	if len(args) > 0 && !slices.ContainsFunc(args, func(v cty.Value) bool { return !v.IsKnown() }) {
		return cty.DynamicPseudoType, nil
	}
	return of(args)
}

// hide returns err without the sensitive values in args.
func hide(err error, args []cty.Value) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	hidden := text
	for _, arg := range args {
		part := marks.ShortPart
		if arg.Type() == cty.String {
			part = 1 // a function that can't parse a text may quote a single character
		}
		hidden = marks.Redact(hidden, marks.Secrets(nil, arg), part)
	}
	if hidden == text {
		return err
	}
	if arg, ok := errors.AsType[function.ArgError](err); ok {
		return function.NewArgErrorf(arg.Index, "%s", hidden)
	}
	return errors.New(hidden)
}
