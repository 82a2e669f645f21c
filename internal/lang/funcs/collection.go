package funcs

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"tofu/internal/lang/coerce"
)

var (
	chunklistFunc = withDescriptions(stdlib.ChunklistFunc,
		"`chunklist` splits a list into lists of a given size; the last one may be shorter.",
		"The list.", "The maximum length of a chunk.")
	coalescelistFunc = withDescriptions(stdlib.CoalesceListFunc,
		"`coalescelist` returns the first list that is not empty.",
		"The lists.")
	compactFunc = withDescriptions(stdlib.CompactFunc,
		"`compact` returns a list of strings without those that are empty or null.",
		"The list.")
	concatFunc = withDescriptions(stdlib.ConcatFunc,
		"`concat` joins two or more lists into one.",
		"The lists.")
	distinctFunc = withDescriptions(distinctByHash,
		"`distinct` returns a list without duplicates, in the order of their first occurrence.",
		"The list.")
	elementFunc = withDescriptions(stdlib.ElementFunc,
		"`element` returns one element of a list. An index outside the list wraps around.",
		"The list.", "The index, from zero; negative ones count from the end.")
	flattenFunc = withDescriptions(stdlib.FlattenFunc,
		"`flatten` replaces nested lists in a list with their elements, at all depths.",
		"The list.")
	keysFunc = withDescriptions(stdlib.KeysFunc,
		"`keys` returns the keys of a map or the attribute names of an object, sorted.",
		"The map or object.")
	mergeFunc = withDescriptions(stdlib.MergeFunc,
		"`merge` combines several maps or objects into one. The last value of a key wins.",
		"The maps or objects.")
	rangeFunc = withDescriptions(stdlib.RangeFunc,
		"`range` returns a list of numbers from a start up to, but not including, a limit.",
		"The limit; or the start and the limit; or the start, the limit and the step.")
	reverseFunc = withDescriptions(stdlib.ReverseListFunc,
		"`reverse` returns the elements of a list in reverse order.",
		"The list.")
	setintersectionFunc = withDescriptions(setIntersection,
		"`setintersection` returns the elements that all sets have in common.",
		"The first set.", "The other sets.")
	setproductFunc = withDescriptions(withSizeCheck(setProduct, productSize, notNull),
		"`setproduct` returns all combinations of an element of each of the given lists or sets.",
		"The lists or sets.")
	setsubtractFunc = withDescriptions(setSubtract,
		"`setsubtract` returns the elements of the first set that are not in the second.",
		"The set to take elements from.", "The set of elements to exclude.")
	setunionFunc = withDescriptions(setUnion,
		"`setunion` returns the elements of all sets.",
		"The first set.", "The other sets.")
	sortFunc = withDescriptions(stdlib.SortFunc,
		"`sort` sorts strings by Unicode code points.",
		"The list.")
	valuesFunc = withDescriptions(stdlib.ValuesFunc,
		"`values` returns the values of a map or object, in the order of their sorted keys.",
		"The map or object.")
	zipmapFunc = withDescriptions(stdlib.ZipmapFunc,
		"`zipmap` creates a map from a list of keys and a list of values of the same length.",
		"The keys.", "The values.")
)

// alltrue and anytrue visit a list in order. Null counts as false. At an unknown element, the
// result of alltrue is unknown. anytrue continues, because a later element may be true.

var alltrueFunc = function.New(&function.Spec{
	Description:  "`alltrue` reports whether all elements of a list are true. The result is true for an empty list.",
	Params:       []function.Parameter{{Name: "list", Type: cty.List(cty.Bool), Description: "The list."}},
	Type:         function.StaticReturnType(cty.Bool),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		for _, v := range args[0].Elements() {
			if !v.IsKnown() {
				return cty.UnknownVal(cty.Bool), nil
			}
			if v.IsNull() || v.False() {
				return cty.False, nil
			}
		}
		return cty.True, nil
	},
})

var anytrueFunc = function.New(&function.Spec{
	Description:  "`anytrue` reports whether any element of a list is true. The result is false for an empty list.",
	Params:       []function.Parameter{{Name: "list", Type: cty.List(cty.Bool), Description: "The list."}},
	Type:         function.StaticReturnType(cty.Bool),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		result := cty.False
		for _, v := range args[0].Elements() {
			switch {
			case !v.IsKnown():
				result = cty.UnknownVal(cty.Bool)
			case !v.IsNull() && v.True():
				return cty.True, nil
			}
		}
		return result, nil
	},
})

// coalesceFunc skips empty strings as well as nulls, unlike the function in the standard library.
var coalesceFunc = function.New(&function.Spec{
	Description: "`coalesce` returns the first of its arguments that is neither null nor an empty string.",
	VarParam: &function.Parameter{
		Name: "vals", Type: cty.DynamicPseudoType,
		AllowNull: true, AllowUnknown: true, AllowDynamicType: true,
		Description: "The values, which must be convertible to one type.",
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		if len(args) == 0 {
			return cty.NilType, errors.New("at least one argument is required")
		}
		types := make([]cty.Type, len(args))
		for i, v := range args {
			types[i] = v.Type()
		}
		ty, _ := convert.UnifyUnsafe(types)
		if ty == cty.NilType {
			return cty.NilType, errors.New("the arguments have no common type")
		}
		return ty, nil
	},
	RefineResult: notNull,
	Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
		for i, arg := range args {
			v, err := convert.Convert(arg, retType)
			if err != nil {
				return cty.NilVal, function.NewArgError(i, err)
			}
			if !v.IsKnown() { // the value may turn out to be null
				return cty.UnknownVal(retType), nil
			}
			if v.IsNull() || retType == cty.String && v.AsString() == "" {
				continue
			}
			return v, nil
		}
		return cty.NilVal, errors.New("all arguments are null or empty strings")
	},
})

// lengthFunc ignores marks and unknown values inside the collection, except in a set, where two
// unknown elements may turn out to be equal.
var lengthFunc = function.New(&function.Spec{
	Description: "`length` returns the number of elements of a list, set, map or object, or of characters of a string.",
	Params: []function.Parameter{{
		Name: "value", Type: cty.DynamicPseudoType,
		AllowDynamicType: true, AllowUnknown: true, AllowMarked: true,
		Description: "The collection or string.",
	}},
	Type: func(args []cty.Value) (cty.Type, error) {
		switch ty := args[0].Type(); {
		case ty == cty.String, ty == cty.DynamicPseudoType, ty.IsCollectionType(), ty.IsTupleType(), ty.IsObjectType():
			return cty.Number, nil
		default:
			return cty.NilType, fmt.Errorf(
				"the argument must be a string, a collection or an object, not %s", ty.FriendlyName())
		}
	},
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		coll, ms := args[0].Unmark()
		var n cty.Value
		switch ty := coll.Type(); {
		case ty == cty.DynamicPseudoType:
			n = cty.UnknownVal(cty.Number)
		case ty == cty.String:
			n = stringLength(coll)
		case ty.IsTupleType():
			n = cty.NumberIntVal(int64(ty.Length()))
		case ty.IsObjectType():
			n = cty.NumberIntVal(int64(len(ty.AttributeTypes())))
		default:
			n = coll.Length()
		}
		return n.WithMarks(ms), nil
	},
})

// oneFunc converts the result of count or a splat to a value or null.
var oneFunc = function.New(&function.Spec{
	Description: "`one` returns the only element of a list or set, or null if it is empty. More than one " +
		"element is an error.",
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
			return cty.NilType, function.NewArgErrorf(0, "must have at most one element")
		default:
			return cty.NilType, function.NewArgErrorf(0, "must be a list or a set, not %s", ty.FriendlyName())
		}
	},
	Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
		coll := args[0]
		n := coll.Length()
		if !n.IsKnown() { // the number of elements is unknown, as in a set with unknown elements
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
		return cty.NilVal, function.NewArgErrorf(0, "must have at most one element")
	},
})

// sumFunc does not round to 64 bits. The sum of an empty list is an error, because the list was
// probably selected by mistake.
var sumFunc = function.New(&function.Spec{
	Description: "`sum` adds up numbers.",
	Params: []function.Parameter{
		{Name: "list", Type: cty.DynamicPseudoType, Description: "The numbers."},
	},
	Type:         function.StaticReturnType(cty.Number),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		ty := args[0].Type()
		if !ty.IsListType() && !ty.IsSetType() && !ty.IsTupleType() {
			return cty.NilVal, function.NewArgErrorf(0,
				"must be a list, set or tuple of numbers, not %s", ty.FriendlyName())
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
			n, err := coerce.Convert(v, cty.Number)
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

// transposeFunc returns lists whose elements are in the order of the map's keys.
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
					return cty.NilVal, function.NewArgErrorf(0, "element %q contains null", key.AsString())
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
