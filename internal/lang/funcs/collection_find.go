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

// Functions that search collections.

// containsFunc is stdlib.ContainsFunc, except that its result for an untyped null is known.
var containsFunc = function.New(&function.Spec{
	Description: "`contains` reports whether a list or set has a given value, which may be null, as an element.",
	Params: []function.Parameter{
		{Name: "list", Type: cty.DynamicPseudoType, Description: "The list or set."},
		{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true,
			Description: "The value."},
	},
	Type:         function.StaticReturnType(cty.Bool),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		value := args[1]
		if value.IsNull() {
			value = cty.NullVal(cty.String) // nulls of all types are equal here
		}
		return stdlib.Contains(args[0], value)
	},
})

// indexFunc compares without conversion, so 1 and "1" differ.
var indexFunc = function.New(&function.Spec{
	Description: "`index` returns the index of the first element of a list that is equal to a given value. If " +
		"there is none, it fails.",
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
				return cty.UnknownVal(cty.Number), nil // this element may turn out to be equal
			}
			if eq.True() {
				return i, nil
			}
		}
		return cty.NilVal, errors.New("no element of the list is equal to the value")
	},
})

// lookupFunc marks its result with the marks of the map or object itself, of the key, and of the
// element or default.
var lookupFunc = function.New(&function.Spec{
	Description: "`lookup` returns the value of a given key of a map or object, or a default if it does not " +
		"have the key.",
	Params: []function.Parameter{
		{
			Name: "inputMap", Type: cty.DynamicPseudoType, AllowMarked: true, AllowUnknown: true,
			AllowDynamicType: true,
			Description:      "The map or object.",
		},
		{Name: "key", Type: cty.String, AllowMarked: true, AllowUnknown: true, Description: "The key."},
	},
	VarParam: &function.Parameter{
		Name: "default", Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowDynamicType: true, AllowNull: true, AllowMarked: true,
		Description: "The default value, at most one. Without it, a missing key is an error.",
	},
	Type: lookupType,
	Impl: lookup,
})

// lookupType returns the type of the element or, if an object lacks it, of the default. For a map
// the default must be convertible to the element type, even if the map has the key.
func lookupType(args []cty.Value) (cty.Type, error) {
	if len(args) > 3 {
		return cty.NilType, errors.New("only one default is allowed")
	}
	switch ty := args[0].Type(); {
	case ty == cty.DynamicPseudoType:
		return ty, nil
	case ty.IsMapType():
		if len(args) == 3 {
			def, elem := args[2], ty.ElementType()
			if convert.GetConversionUnsafe(def.Type(), elem) == nil && !def.Type().Equals(elem) {
				return cty.NilType, function.NewArgErrorf(2,
					"must be convertible to the type of the map's elements, %s", elem.FriendlyName())
			}
			if _, err := coerce.Convert(def, elem); err != nil {
				return cty.NilType, function.NewArgError(2, err)
			}
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

// lookup implements lookupFunc for arguments that lookupType accepts.
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
		def, err := coerce.Convert(args[2], retType)
		if err != nil {
			return cty.NilVal, function.NewArgError(2, err)
		}
		return def.WithMarks(collMarks, keyMarks), nil
	}
	return cty.NilVal, fmt.Errorf("the map has no element %q", key)
}

// matchkeysFunc returns an unknown value if anything in its arguments is unknown, because an
// unknown key may match.
var matchkeysFunc = function.New(&function.Spec{
	Description: "`matchkeys` returns the elements of a list whose counterparts in a list of keys are among " +
		"the given keys.",
	Params: []function.Parameter{
		{Name: "values", Type: cty.List(cty.DynamicPseudoType), Description: "The list of values."},
		{Name: "keys", Type: cty.List(cty.DynamicPseudoType),
			Description: "The key of each element, in the same order."},
		{Name: "searchset", Type: cty.List(cty.DynamicPseudoType), Description: "The keys to search for."},
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		if ty, _ := convert.UnifyUnsafe([]cty.Type{args[1].Type(), args[2].Type()}); ty == cty.NilType {
			return cty.NilType, errors.New("keys and searchset have no common type")
		}
		return args[0].Type(), nil
	},
	RefineResult: notNull,
	Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
		if args[0].LengthInt() != args[1].LengthInt() {
			return cty.NilVal, errors.New("the list of keys must be as long as the list of values")
		}
		ty, _ := convert.UnifyUnsafe([]cty.Type{args[1].Type(), args[2].Type()})
		keys, err := coerce.Convert(args[1], ty)
		if err != nil {
			return cty.NilVal, function.NewArgError(1, err)
		}
		wanted, err := coerce.Convert(args[2], ty)
		if err != nil {
			return cty.NilVal, function.NewArgError(2, err)
		}
		if !args[0].IsWhollyKnown() || !keys.IsWhollyKnown() || !wanted.IsWhollyKnown() {
			return cty.UnknownVal(retType), nil
		}
		return selectByKey(args[0], keys, wanted), nil
	},
})

// selectByKey returns the elements of list whose keys are in wanted. All three lists are known.
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

// sliceFunc is stdlib.SliceFunc without its panic for an unknown list of known length.
var sliceFunc = function.New(&function.Spec{
	Description: "`slice` returns consecutive elements of a list.",
	Params: []function.Parameter{
		{Name: "list", Type: cty.DynamicPseudoType, AllowMarked: true, AllowUnknown: true, Description: "The list."},
		{Name: "start_index", Type: cty.Number, Description: "The index of the first element."},
		{Name: "end_index", Type: cty.Number, Description: "The index after the last element."},
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
