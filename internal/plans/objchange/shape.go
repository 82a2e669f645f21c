package objchange

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/lang/marks"
)

// shape is the content of a block or of the object of a nested attribute. The rules for both are
// the same.
type shape struct {
	attrs  map[string]*configschema.Attribute
	blocks map[string]*configschema.NestedBlock
}

func shapeOf(b *configschema.Block) shape { return shape{b.Attributes, b.BlockTypes} }

func objectShape(o *configschema.Object) shape { return shape{attrs: o.Attributes} }

// attr returns an attribute of an object. It returns null if the object is null or unknown or has
// no such attribute.
func attr(obj cty.Value, name string, ty cty.Type) cty.Value {
	if obj.IsNull() || !obj.IsKnown() || !obj.Type().IsObjectType() || !obj.Type().HasAttribute(name) {
		return cty.NullVal(ty)
	}
	return obj.GetAttr(name)
}

// elements returns the elements of a collection. It returns nil if the collection is null or
// unknown.
func elements(v cty.Value) []cty.Value {
	if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() {
		return nil
	}
	return v.AsValueSlice()
}

// entries is like elements, for collections with string keys.
func entries(v cty.Value) map[string]cty.Value {
	if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() || !(v.Type().IsMapType() || v.Type().IsObjectType()) {
		return nil
	}
	return v.AsValueMap()
}

// at returns the element at index i. If i is out of range, it returns null of the same type as
// like.
func at(elems []cty.Value, i int, like cty.Value) cty.Value {
	if i < len(elems) {
		return elems[i]
	}
	return cty.NullVal(like.Type())
}

// entry returns the element with a key. If the key doesn't exist, it returns null of the same
// type as like.
func entry(elems map[string]cty.Value, key string, like cty.Value) cty.Value {
	if v, ok := elems[key]; ok {
		return v
	}
	return cty.NullVal(like.Type())
}

// sequence returns a collection of the given elements, of the same kind as like. It returns like if
// there are no elements, or if a list or set would have elements of different types.
func sequence(elems []cty.Value, like cty.Value) cty.Value {
	ty := like.Type()
	switch {
	case len(elems) == 0:
		return like
	case ty.IsTupleType():
		return cty.TupleVal(elems)
	case !sameType(elems):
		return like
	case ty.IsSetType():
		return cty.SetVal(elems)
	}
	return cty.ListVal(elems)
}

// keyed is like sequence, for maps and for objects that represent maps.
func keyed(elems map[string]cty.Value, like cty.Value) cty.Value {
	switch {
	case len(elems) == 0:
		return like
	case like.Type().IsObjectType():
		return cty.ObjectVal(elems)
	case !sameType(slices.Collect(maps.Values(elems))):
		return like
	}
	return cty.MapVal(elems)
}

func sameType(elems []cty.Value) bool {
	for _, v := range elems[1:] {
		if !v.Type().Equals(elems[0].Type()) {
			return false
		}
	}
	return true
}

// singular reports whether a nesting mode allows at most one object.
func singular(m configschema.NestingMode) bool {
	return m == configschema.NestingSingle || m == configschema.NestingGroup
}

// unmark returns v without its marks, and the paths at which v had marks.
func unmark(v cty.Value) (cty.Value, []cty.Path) {
	if !marks.Any(v) {
		return v, nil
	}
	bare, marked := v.UnmarkDeepWithPaths()
	paths := make([]cty.Path, len(marked))
	for i, m := range marked {
		paths[i] = m.Path
	}
	return bare, paths
}

func bare(v cty.Value) cty.Value {
	v, _ = unmark(v)
	return v
}
