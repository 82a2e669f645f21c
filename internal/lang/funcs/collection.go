package funcs

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

var (
	chunklistFunc = described(stdlib.ChunklistFunc,
		"`chunklist` splits a list into lists of a given size; the last one may be shorter.",
		"The list.", "The greatest length of a chunk.")
	coalescelistFunc = described(stdlib.CoalesceListFunc,
		"`coalescelist` returns the first of the given lists that is not empty.",
		"The lists.")
	compactFunc = described(stdlib.CompactFunc,
		"`compact` returns a list of strings without those that are empty or null.",
		"The list.")
	concatFunc = described(stdlib.ConcatFunc,
		"`concat` makes one list of two or more.",
		"The lists.")
	distinctFunc = described(stdlib.DistinctFunc,
		"`distinct` returns a list with only the first of equal elements, in the same order.",
		"The list.")
	elementFunc = described(stdlib.ElementFunc,
		"`element` returns one element of a list. An index outside the list wraps around.",
		"The list.", "The index, from zero; negative ones count from the end.")
	flattenFunc = described(stdlib.FlattenFunc,
		"`flatten` replaces the elements of a list that are lists by their elements, at all depths.",
		"The list.")
	keysFunc = described(stdlib.KeysFunc,
		"`keys` returns the keys of a map or the attribute names of an object, sorted.",
		"The map or object.")
	mergeFunc = described(stdlib.MergeFunc,
		"`merge` makes one map or object of several. Of equal keys the last one wins.",
		"The maps or objects.")
	rangeFunc = described(stdlib.RangeFunc,
		"`range` returns a list of numbers by a start value, a limit and a step value.",
		"The limit; or the start and the limit; or the start, the limit and the step.")
	reverseFunc = described(stdlib.ReverseListFunc,
		"`reverse` returns the elements of a list in reverse order.",
		"The list.")
	setintersectionFunc = described(stdlib.SetIntersectionFunc,
		"`setintersection` returns the elements that all of the given sets have.",
		"The first set.", "The other sets.")
	setproductFunc = described(stdlib.SetProductFunc,
		"`setproduct` returns all combinations of an element of each of the given lists or sets.",
		"The lists or sets.")
	setsubtractFunc = described(stdlib.SetSubtractFunc,
		"`setsubtract` returns the elements of the first set that the second does not have.",
		"The set to take elements from.", "The set of the elements to leave out.")
	setunionFunc = described(stdlib.SetUnionFunc,
		"`setunion` returns the elements that any of the given sets has.",
		"The first set.", "The other sets.")
	sortFunc = described(stdlib.SortFunc,
		"`sort` sorts a list of strings by their Unicode characters.",
		"The list.")
	valuesFunc = described(stdlib.ValuesFunc,
		"`values` returns the values of a map or object, in the order of their sorted keys.",
		"The map or object.")
	zipmapFunc = described(stdlib.ZipmapFunc,
		"`zipmap` makes a map of a list of keys and a list of values of the same length.",
		"The keys.", "The values.")
)

// alltrue and anytrue take a list in its order. Null counts as false. An unknown element makes alltrue unknown at once,
// while anytrue goes on to look for one that decides.

var alltrueFunc = function.New(&function.Spec{
	Description:  "`alltrue` tells whether all elements of a list are true; an empty list counts as true.",
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
	Description:  "`anytrue` tells whether any element of a list is true; an empty list counts as false.",
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

var coalesceFunc = function.New(&function.Spec{
	Description: "`coalesce` returns the first of its arguments that is neither null nor an empty string.",
	VarParam: &function.Parameter{
		Name: "vals", Type: cty.DynamicPseudoType,
		AllowNull: true, AllowUnknown: true, AllowDynamicType: true,
		Description: "The values, of types that convert to one type.",
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		types := make([]cty.Type, len(args))
		for i, v := range args {
			types[i] = v.Type()
		}
		ty, _ := convert.UnifyUnsafe(types)
		if ty == cty.NilType {
			return cty.NilType, errors.New("all arguments must have the same type")
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
			if !v.IsKnown() {
				return cty.UnknownVal(retType), nil
			}
			if v.IsNull() || retType == cty.String && v.AsString() == "" {
				continue
			}
			return v, nil
		}
		return cty.NilVal, errors.New("no argument that is neither null nor an empty string")
	},
})

var indexFunc = function.New(&function.Spec{
	Description: "`index` returns the index of the first element of a list that is equal to a given value. No such element is an error.",
	Params: []function.Parameter{
		{Name: "list", Type: cty.DynamicPseudoType, Description: "The list."},
		{Name: "value", Type: cty.DynamicPseudoType, Description: "The value."},
	},
	Type:         function.StaticReturnType(cty.Number),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		list := args[0]
		if ty := list.Type(); !ty.IsListType() && !ty.IsTupleType() {
			return cty.NilVal, fmt.Errorf("the first argument must be a list, not %s", ty.FriendlyName())
		}
		for i, v := range list.Elements() {
			eq := v.Equals(args[1])
			if !eq.IsKnown() {
				return cty.UnknownVal(cty.Number), nil // this may be it
			}
			if eq.True() {
				return i, nil
			}
		}
		return cty.NilVal, errors.New("no element of the list is equal to the value")
	},
})

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
			return cty.NilType, fmt.Errorf("the argument must be a string, a collection or an object, not %s", ty.FriendlyName())
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
			var err error
			if n, err = stdlib.Strlen(coll); err != nil {
				return cty.NilVal, err
			}
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

var lookupFunc = function.New(&function.Spec{
	Description: "`lookup` returns the value of a given key of a map or object, or a default if it does not have the key.",
	Params: []function.Parameter{
		{
			Name: "inputMap", Type: cty.DynamicPseudoType, AllowMarked: true, AllowUnknown: true, AllowDynamicType: true,
			Description: "The map or object.",
		},
		{Name: "key", Type: cty.String, AllowMarked: true, AllowUnknown: true, Description: "The key."},
	},
	VarParam: &function.Parameter{
		Name: "default", Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowDynamicType: true, AllowNull: true, AllowMarked: true,
		Description: "The default, at most one. Without it a missing key is an error.",
	},
	Type: lookupType,
	Impl: lookup,
})

func lookupType(args []cty.Value) (cty.Type, error) {
	if len(args) > 3 {
		return cty.NilType, errors.New("there can be only one default")
	}
	switch ty := args[0].Type(); {
	case ty == cty.DynamicPseudoType:
		return ty, nil
	case ty.IsMapType():
		if len(args) == 3 && convert.GetConversionUnsafe(args[2].Type(), ty.ElementType()) == nil &&
			!args[2].Type().Equals(ty.ElementType()) {
			return cty.NilType, function.NewArgErrorf(2, "the default must have the type of the map's elements, %s", ty.ElementType().FriendlyName())
		}
		return ty.ElementType(), nil
	case ty.IsObjectType():
		key, _ := args[1].Unmark()
		switch {
		case !key.IsKnown():
			return cty.DynamicPseudoType, nil
		case ty.HasAttribute(key.AsString()):
			return ty.AttributeType(key.AsString()), nil
		case len(args) == 3:
			return args[2].Type(), nil
		}
		return cty.NilType, function.NewArgErrorf(0, "the object has no attribute %q", key.AsString())
	default:
		return cty.NilType, function.NewArgErrorf(0, "must be a map or an object, not %s", ty.FriendlyName())
	}
}

func lookup(args []cty.Value, retType cty.Type) (cty.Value, error) {
	coll, collMarks := args[0].Unmark()
	keyVal, keyMarks := args[1].Unmark()
	if !coll.IsKnown() || !keyVal.IsKnown() {
		return cty.UnknownVal(retType).WithMarks(collMarks, keyMarks), nil
	}
	key := keyVal.AsString()
	if coll.Type().IsObjectType() {
		if coll.Type().HasAttribute(key) {
			return coll.GetAttr(key).WithMarks(collMarks, keyMarks), nil
		}
	} else if coll.HasIndex(keyVal).True() {
		return coll.Index(keyVal).WithMarks(collMarks, keyMarks), nil
	}
	if len(args) == 3 {
		def, err := convert.Convert(args[2], retType)
		if err != nil {
			return cty.NilVal, function.NewArgError(2, err)
		}
		return def.WithMarks(collMarks, keyMarks), nil
	}
	if len(keyMarks) > 0 {
		return cty.NilVal, errors.New("the map has no such element")
	}
	return cty.NilVal, fmt.Errorf("the map has no element %q", key)
}
