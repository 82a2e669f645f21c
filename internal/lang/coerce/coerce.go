// Package coerce converts values to types, in time proportional to their elements.
//
// It does what cty's package convert does. That one unifies the types of all elements when it makes a list, set or map of a tuple or
// an object, for which it compares each with all others, also where all have one type.
//
// Invariants: a conversion has the result of convert.Convert, and fails where that fails, but keeps the marks of nulls; only types
// that differ are compared with each other.
package coerce

import (
	"maps"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Convert converts v to a type, with unsafe conversions as convert.Convert does.
func Convert(v cty.Value, want cty.Type) (cty.Value, error) {
	if out, ok := collect(v, want); ok {
		return out, nil
	}
	return convert.Convert(within(v, want), want)
}

// within converts the attributes of an object that become collections.
func within(v cty.Value, want cty.Type) cty.Value {
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
			inner = within(attr, ty)
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

// Convertible reports whether there are values of one type that can be converted to another.
func Convertible(from, to cty.Type) bool {
	return from.Equals(to) || convert.GetConversionUnsafe(narrow(from, to), to) != nil
}

// narrow returns a smaller type than the one of a tuple or an object that is to become a collection. It has one element of each
// type, on which alone depends whether there is a conversion.
func narrow(from, to cty.Type) cty.Type {
	switch {
	case from.IsTupleType() && (to.IsListType() || to.IsSetType()):
		return cty.Tuple(different(from.TupleElementTypes()))
	case from.IsObjectType() && to.IsMapType():
		attrs := make(map[string]cty.Type)
		for i, ty := range different(attributeTypes(from)) {
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

// different returns the types of a list without repetitions.
func different(types []cty.Type) []cty.Type {
	var out []cty.Type
	var seen map[string]bool // by their text, where there are several
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

// collect converts a tuple to a list or a set, and an object to a map. It returns false for everything else, and where it is left
// to the library to convert the value or to say why that can't be done.
func collect(v cty.Value, want cty.Type) (cty.Value, bool) {
	if !want.IsCollectionType() || v == cty.NilVal {
		return v, false
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

// elementType returns the type that elements of these types get in a collection. It is one without dynamic parts, so that all
// elements that can be converted to it have the same type then.
func elementType(types []cty.Type, collection cty.Type) (cty.Type, bool) {
	elem := collection.ElementType()
	if len(types) == 0 {
		return elem, false
	}
	if elem == cty.DynamicPseudoType {
		if elem = types[0]; slices.ContainsFunc(types[1:], func(ty cty.Type) bool { return !ty.Equals(elem) }) {
			elem, _ = convert.UnifyUnsafe(different(types))
		}
	}
	return elem, elem != cty.NilType && !elem.HasDynamicTypes()
}

// all converts values to one type, in place, and reports whether they have it all.
func all(values []cty.Value, want cty.Type) bool {
	result := want.WithoutOptionalAttributesDeep()
	for i, v := range values {
		if v.Type().Equals(want) {
			continue
		}
		converted, err := Convert(v, want)
		if err != nil || !converted.Type().Equals(result) {
			return false
		}
		values[i] = converted
	}
	return true
}
