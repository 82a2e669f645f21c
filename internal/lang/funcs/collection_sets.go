package funcs

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"tofu/internal/lang/coerce"
)

// setUnion is like stdlib.SetUnionFunc, but faster. The function in stdlib compares the types of
// all arguments with each other, and copies the union for each argument.
var setUnion = function.New(&function.Spec{
	Params:   stdlib.SetUnionFunc.Params(),
	VarParam: stdlib.SetUnionFunc.VarParam(),
	Type: func(args []cty.Value) (cty.Type, error) {
		return stdlib.SetUnionFunc.ReturnTypeForValues(distinctTypes(args))
	},
	RefineResult: notNull,
	Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
		var all []cty.Value
		for i, arg := range args {
			if !arg.IsWhollyKnown() {
				return stdlib.SetUnionFunc.Call(args)
			}
			set, err := coerce.Convert(arg, retType)
			if err != nil {
				return cty.NilVal, function.NewArgError(i, err)
			}
			all = append(all, set.AsValueSlice()...)
		}
		if len(all) == 0 {
			return cty.SetValEmpty(retType.ElementType()), nil
		}
		return cty.SetVal(all), nil
	},
})

// distinctTypes returns one argument of each type. It prefers arguments with elements.
func distinctTypes(args []cty.Value) []cty.Value {
	if len(args) < 3 {
		return args
	}
	place := make(map[string]int)
	var out []cty.Value
	for _, arg := range args {
		key := arg.Type().GoString()
		i, ok := place[key]
		switch {
		case !ok:
			place[key] = len(out)
			out = append(out, arg)
		case out[i].IsKnown() && out[i].LengthInt() == 0:
			out[i] = arg
		}
	}
	return out
}

// setProduct is like stdlib.SetProductFunc, but converts tuples to lists.
var setProduct = function.New(&function.Spec{
	VarParam: stdlib.SetProductFunc.VarParam(),
	Type: func(args []cty.Value) (cty.Type, error) {
		return typeOf(args, func(args []cty.Value) (cty.Type, error) {
			return stdlib.SetProductFunc.ReturnTypeForValues(tuplesToLists(args))
		})
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return stdlib.SetProductFunc.Call(tuplesToLists(args))
	},
})

// tuplesToLists returns the arguments. Tuples whose elements have a common type are converted to
// lists.
func tuplesToLists(args []cty.Value) []cty.Value {
	out := make([]cty.Value, len(args))
	for i, arg := range args {
		out[i] = arg
		if !arg.Type().IsTupleType() {
			continue
		}
		if list, err := coerce.Convert(arg, cty.List(cty.DynamicPseudoType)); err == nil {
			out[i] = list
		}
	}
	return out
}
