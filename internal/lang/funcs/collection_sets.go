package funcs

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"tofu/internal/lang/coerce"
)

// The operations on sets are like those in stdlib, but faster. Each pass over the elements of a set
// sorts them with slow comparisons. Those in stdlib make about six passes over each argument, and
// their union copies itself for each argument.

var setUnion = setOperation(stdlib.SetUnionFunc, func(first []cty.Value, others [][]cty.Value) []cty.Value {
	return slices.Concat(append([][]cty.Value{first}, others...)...)
})

var setIntersection = setOperation(stdlib.SetIntersectionFunc, func(first []cty.Value, others [][]cty.Value) []cty.Value {
	for _, other := range others {
		has := membership(other)
		first = slices.DeleteFunc(first, func(v cty.Value) bool { return !has(v) })
	}
	return first
})

var setSubtract = setOperation(stdlib.SetSubtractFunc, func(first []cty.Value, others [][]cty.Value) []cty.Value {
	return slices.DeleteFunc(first, membership(others[0]))
})

// membership returns a function that reports whether a value is one of the given elements of a set.
func membership(elements []cty.Value) func(cty.Value) bool {
	if len(elements) == 0 {
		return func(cty.Value) bool { return false }
	}
	set := cty.NewValueSet(elements[0].Type())
	for _, v := range elements {
		set.Add(v)
	}
	return set.Has
}

// setOperation returns a function that has the parameters and results of one in stdlib. combine
// returns the elements of the result for wholly known arguments.
func setOperation(like function.Function, combine func(first []cty.Value, others [][]cty.Value) []cty.Value) function.Function {
	accept := func(p *function.Parameter) { p.AllowUnknown, p.AllowMarked = true, true }
	params, variadic := like.Params(), like.VarParam()
	for i := range params {
		accept(&params[i])
	}
	if variadic != nil {
		accept(variadic)
	}
	return function.New(&function.Spec{
		Params: params, VarParam: variadic, RefineResult: notNull,
		Type: func(args []cty.Value) (cty.Type, error) {
			types := make([]cty.Value, len(args))
			for i, arg := range args {
				types[i], _ = arg.Unmark()
				if !types[i].IsNull() && types[i].IsKnown() && types[i].LengthInt() > 0 {
					types[i] = cty.UnknownVal(arg.Type()) // the elements don't matter, except that there are some
				}
			}
			return like.ReturnTypeForValues(distinctTypes(types))
		},
		Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
			elements, all := make([][]cty.Value, len(args)), cty.ValueMarks{}
			bare := make([]cty.Value, len(args))
			wholly := true
			for i, arg := range args {
				set, its := arg.Unmark() // the elements of a set have no marks
				bare[i] = set
				maps.Copy(all, its)
				if wholly = wholly && set.IsKnown(); !wholly {
					continue
				}
				set, err := coerce.Convert(set, retType)
				if err != nil {
					return cty.NilVal, function.NewArgError(i, err)
				}
				elements[i] = set.AsValueSlice()
				wholly = !slices.ContainsFunc(elements[i], func(v cty.Value) bool { return !v.IsWhollyKnown() })
			}
			if !wholly {
				v, err := like.Call(bare)
				return v.WithMarks(all), err
			}
			result := combine(elements[0], elements[1:])
			if len(result) == 0 {
				return cty.SetValEmpty(retType.ElementType()).WithMarks(all), nil
			}
			return cty.SetVal(result).WithMarks(all), nil
		},
	})
}

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
