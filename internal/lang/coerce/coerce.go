// Package coerce converts values to types in time proportional to the number of their elements.
//
// It replaces cty's package convert. When that package converts a tuple or object to a collection,
// it unifies the types of all elements. In doing so, it compares each type with all others, even if
// they are all the same.
//
// [Convert] returns the same results and errors as convert.Convert, except that it keeps the marks
// of null values and rejects numbers with too many digits. It compares only distinct types with
// each other.
package coerce

import (
	"maps"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Convert converts v to a type. It allows the conversions that package convert calls unsafe. It
// returns [ErrLongNumber] if the result contains a number with too many digits.
func Convert(v cty.Value, want cty.Type) (cty.Value, error) {
	out, err := convertValue(v, want)
	if err == nil && out != cty.NilVal && HasLongNumber(out) {
		return cty.NilVal, ErrLongNumber
	}
	return out, err
}

func convertValue(v cty.Value, want cty.Type) (cty.Value, error) {
	if out, ok := collect(v, want); ok {
		return out, nil
	}
	return convert.Convert(convertAttributes(v, want), want)
}

// convertAttributes converts the attributes of an object, or of objects nested in it, whose wanted
// types are collections. It returns v if there are no such attributes.
func convertAttributes(v cty.Value, want cty.Type) cty.Value {
	if v == cty.NilVal || !want.IsObjectType() || !v.Type().IsObjectType() || v.IsNull() || !v.IsKnown() {
		return v
	}
	bare, marks := v.Unmark()
	attrs, changed := bare.AsValueMap(), false
	for name, ty := range want.AttributeTypes() {
		attr, ok := attrs[name]
		if !ok {
			continue
		}
		inner, collected := collect(attr, ty)
		if !collected {
			inner = convertAttributes(attr, ty)
		}
		if !inner.Type().Equals(attr.Type()) {
			attrs[name], changed = inner, true
		}
	}
	if !changed {
		return v
	}
	return cty.ObjectVal(attrs).WithMarks(marks)
}

// Convertible reports whether some values of type from can be converted to type to.
func Convertible(from, to cty.Type) bool {
	return from.Equals(to) || convert.GetConversionUnsafe(representative(from, to), to) != nil
}

// representative returns a type for which Convertible has the same result as for the type from. If
// from is a tuple or object type and to is a collection, this is a smaller type with one element
// for each distinct element type. Otherwise it is from.
func representative(from, to cty.Type) cty.Type {
	switch {
	case from.IsTupleType() && (to.IsListType() || to.IsSetType()):
		return cty.Tuple(distinct(from.TupleElementTypes()))
	case from.IsObjectType() && to.IsMapType():
		attrs := make(map[string]cty.Type)
		for i, ty := range distinct(attributeTypes(from)) {
			attrs[strconv.Itoa(i)] = ty
		}
		return cty.Object(attrs)
	}
	return from
}

func attributeTypes(ty cty.Type) []cty.Type {
	attrs := ty.AttributeTypes()
	types := make([]cty.Type, 0, len(attrs))
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		types = append(types, attrs[name])
	}
	return types
}

// distinct returns the distinct types in a list.
func distinct(types []cty.Type) []cty.Type {
	var out []cty.Type
	var seen map[string]bool // keyed by GoString; nil while there is only one type
	for _, ty := range types {
		switch {
		case len(out) == 0:
			out = append(out, ty)
		case ty.Equals(out[len(out)-1]):
		case seen == nil:
			seen = map[string]bool{out[0].GoString(): true, ty.GoString(): true}
			out = append(out, ty)
		default:
			if text := ty.GoString(); !seen[text] {
				seen[text] = true
				out = append(out, ty)
			}
		}
	}
	return out
}

// collect converts a tuple to a list or set, or an object to a map. It returns false if the caller
// must use convert.Convert to convert the value or to get the error.
func collect(v cty.Value, want cty.Type) (cty.Value, bool) {
	if !want.IsCollectionType() || v == cty.NilVal {
		return v, false
	}
	if v.Type().IsSetType() && want.IsSetType() && want.ElementType() == cty.DynamicPseudoType &&
		!v.Type().HasDynamicTypes() && v.IsKnown() && !v.IsNull() {
		return v, true // convert.Convert would sort the elements and build the set again
	}
	v, marks := v.Unmark()
	if v.IsNull() || !v.IsKnown() || v.Type().Equals(want) {
		return v, false
	}
	var out cty.Value
	switch from := v.Type(); {
	case from.IsTupleType() && !want.IsMapType():
		elements := v.AsValueSlice()
		if elem, ok := elementType(from.TupleElementTypes(), want); !ok || !all(elements, elem) {
			return v, false
		}
		if want.IsSetType() {
			out = cty.SetVal(elements)
		} else {
			out = cty.ListVal(elements)
		}
	case from.IsObjectType() && want.IsMapType():
		attrs := v.AsValueMap()
		elem, ok := elementType(attributeTypes(from), want)
		if !ok {
			return v, false
		}
		for name, attr := range attrs {
			one := []cty.Value{attr}
			if !all(one, elem) {
				return v, false
			}
			attrs[name] = one[0]
		}
		out = cty.MapVal(attrs)
	default:
		return v, false
	}
	return out.WithMarks(marks), true
}

// elementType returns the element type of the collection that results from elements with the given
// types. The result has no dynamic parts, so all converted elements have the same type. It returns
// false if there is no such type.
func elementType(types []cty.Type, collection cty.Type) (cty.Type, bool) {
	elem := collection.ElementType()
	if len(types) == 0 {
		return elem, false
	}
	if elem == cty.DynamicPseudoType {
		elem = types[0]
		differs := func(ty cty.Type) bool { return !ty.Equals(elem) }
		if slices.ContainsFunc(types[1:], differs) {
			elem, _ = convert.UnifyUnsafe(distinct(types))
		}
	}
	return elem, elem != cty.NilType && !elem.HasDynamicTypes()
}

// all converts values to one type, in place, and reports whether that succeeded for all of them.
func all(values []cty.Value, want cty.Type) bool {
	result := want.WithoutOptionalAttributesDeep()
	for i, v := range values {
		if v.Type().Equals(want) {
			continue
		}
		converted, err := convertValue(v, want)
		if err != nil || !converted.Type().Equals(result) {
			return false
		}
		values[i] = converted
	}
	return true
}
