package funcs

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// containsFunc is the function of the standard library but for null, which this language does not search for.
var containsFunc = function.New(&function.Spec{
	Description: "`contains` tells whether a list or set has a given value as an element.",
	Params: []function.Parameter{
		{Name: "list", Type: cty.DynamicPseudoType, Description: "The list or set."},
		{Name: "value", Type: cty.DynamicPseudoType, Description: "The value."},
	},
	Type:         function.StaticReturnType(cty.Bool),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return stdlib.Contains(args[0], args[1])
	},
})

// sliceFunc is the function of the standard library but for an unknown list of known length, with which that panics.
var sliceFunc = function.New(&function.Spec{
	Description: "`slice` returns consecutive elements of a list.",
	Params: []function.Parameter{
		{Name: "list", Type: cty.DynamicPseudoType, AllowMarked: true, AllowUnknown: true, Description: "The list."},
		{Name: "start_index", Type: cty.Number, Description: "The index of the first element."},
		{Name: "end_index", Type: cty.Number, Description: "The index after that of the last element."},
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		if ty := args[0].Type(); ty.IsListType() && !args[0].IsKnown() {
			return ty, nil
		}
		return stdlib.SliceFunc.ReturnTypeForValues(args)
	},
	RefineResult: notNull,
	Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
		list, ms := args[0].Unmark()
		if !list.IsKnown() {
			return cty.UnknownVal(retType).WithMarks(ms), nil
		}
		return stdlib.SliceFunc.Call(args)
	},
})

var matchkeysFunc = function.New(&function.Spec{
	Description: "`matchkeys` returns the elements of a list whose counterparts in a list of keys are among the given keys.",
	Params: []function.Parameter{
		{Name: "values", Type: cty.List(cty.DynamicPseudoType), Description: "The list to take elements from."},
		{Name: "keys", Type: cty.List(cty.DynamicPseudoType), Description: "The key of each element, in the same order."},
		{Name: "searchset", Type: cty.List(cty.DynamicPseudoType), Description: "The keys of the elements to take."},
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		if ty, _ := convert.UnifyUnsafe([]cty.Type{args[1].Type(), args[2].Type()}); ty == cty.NilType {
			return cty.NilType, errors.New("keys and searchset must be of the same type")
		}
		return args[0].Type(), nil
	},
	RefineResult: notNull,
	Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
		if args[0].LengthInt() != args[1].LengthInt() {
			return cty.NilVal, errors.New("the list of keys must be as long as the list of values")
		}
		ty, _ := convert.UnifyUnsafe([]cty.Type{args[1].Type(), args[2].Type()})
		keys, err := convert.Convert(args[1], ty)
		if err != nil {
			return cty.NilVal, function.NewArgError(1, err)
		}
		wanted, err := convert.Convert(args[2], ty)
		if err != nil {
			return cty.NilVal, function.NewArgError(2, err)
		}
		if !args[0].IsWhollyKnown() || !keys.IsWhollyKnown() || !wanted.IsWhollyKnown() {
			return cty.UnknownVal(retType), nil
		}
		return selectByKey(args[0], keys, wanted), nil
	},
})

// selectByKey returns the elements of list whose keys are in wanted. All three are known lists.
func selectByKey(list, keys, wanted cty.Value) cty.Value {
	set := cty.NewValueSet(wanted.Type().ElementType())
	for _, k := range wanted.Elements() {
		set.Add(k)
	}
	values := list.AsValueSlice()
	var ret []cty.Value
	for i, k := range keys.AsValueSlice() {
		if set.Has(k) {
			ret = append(ret, values[i])
		}
	}
	if len(ret) == 0 {
		return cty.ListValEmpty(list.Type().ElementType())
	}
	return cty.ListVal(ret)
}

var oneFunc = function.New(&function.Spec{
	Description: "`one` returns the only element of a list or set, or null if it is empty. More than one element is an error.",
	Params: []function.Parameter{
		{Name: "list", Type: cty.DynamicPseudoType, Description: "The list or set."},
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		switch ty := args[0].Type(); {
		case ty.IsListType(), ty.IsSetType():
			return ty.ElementType(), nil
		case ty.IsTupleType():
			switch etys := ty.TupleElementTypes(); len(etys) {
			case 0:
				return cty.DynamicPseudoType, nil
			case 1:
				return etys[0], nil
			}
			return cty.NilType, function.NewArgErrorf(0, "must have no element or one")
		default:
			return cty.NilType, function.NewArgErrorf(0, "must be a list or a set, not %s", ty.FriendlyName())
		}
	},
	Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
		coll := args[0]
		n := coll.Length()
		if !n.IsKnown() { // a set with unknown elements
			return cty.UnknownVal(retType), nil
		}
		switch coll.LengthInt() {
		case 0:
			return cty.NullVal(retType), nil
		case 1:
			for _, v := range coll.Elements() {
				return v, nil
			}
		}
		return cty.NilVal, function.NewArgErrorf(0, "must have no element or one")
	},
})

var sumFunc = function.New(&function.Spec{
	Description: "`sum` returns the sum of a list or set of numbers.",
	Params: []function.Parameter{
		{Name: "list", Type: cty.DynamicPseudoType, Description: "The numbers."},
	},
	Type:         function.StaticReturnType(cty.Number),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		ty := args[0].Type()
		if !ty.IsListType() && !ty.IsSetType() && !ty.IsTupleType() {
			return cty.NilVal, function.NewArgErrorf(0, "must be a list, set or tuple of numbers, not %s", ty.FriendlyName())
		}
		if args[0].LengthInt() == 0 {
			return cty.NilVal, function.NewArgErrorf(0, "cannot sum an empty list")
		}
		if !args[0].IsWhollyKnown() {
			return cty.UnknownVal(cty.Number), nil
		}
		var sum cty.Value
		for _, v := range args[0].Elements() {
			if v.IsNull() {
				return cty.NilVal, function.NewArgErrorf(0, "must be a list, set or tuple of numbers without null")
			}
			n, err := convert.Convert(v, cty.Number)
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(0, "must be a list, set or tuple of numbers: %w", err)
			}
			if sum == cty.NilVal {
				sum = n
				continue
			}
			sum = sum.Add(n)
		}
		return sum, nil
	},
})

var transposeFunc = function.New(&function.Spec{
	Description: "`transpose` swaps the keys and values of a map of lists of strings.",
	Params: []function.Parameter{
		{Name: "values", Type: cty.Map(cty.List(cty.String)), Description: "The map."},
	},
	Type:         function.StaticReturnType(cty.Map(cty.List(cty.String))),
	RefineResult: notNull,
	Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
		if !args[0].IsWhollyKnown() {
			return cty.UnknownVal(retType), nil
		}
		lists := make(map[string][]cty.Value)
		for key, list := range args[0].Elements() {
			if list.IsNull() {
				return cty.NilVal, function.NewArgErrorf(0, "element %q is null", key.AsString())
			}
			for _, v := range list.Elements() {
				if v.IsNull() {
					return cty.NilVal, function.NewArgErrorf(0, "the list of element %q has a null in it", key.AsString())
				}
				lists[v.AsString()] = append(lists[v.AsString()], key)
			}
		}
		if len(lists) == 0 {
			return cty.MapValEmpty(cty.List(cty.String)), nil
		}
		ret := make(map[string]cty.Value, len(lists))
		for key, list := range lists {
			ret[key] = cty.ListVal(list)
		}
		return cty.MapVal(ret), nil
	},
})
