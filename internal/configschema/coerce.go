package configschema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/coerce"
)

// CoerceValue converts a value from a single expression, such as a backend configuration, to the
// block's type. Missing attributes and blocks become null or empty, but it is an error if they are
// required. Errors are cty.PathErrors.
func (b *Block) CoerceValue(v cty.Value) (cty.Value, error) { return b.coerce(v, nil) }

func (b *Block) coerce(v cty.Value, path cty.Path) (cty.Value, error) {
	v, marks := v.Unmark()
	out, err := b.coerceBare(v, path)
	return out.WithMarks(marks), err
}

func (b *Block) coerceBare(v cty.Value, path cty.Path) (cty.Value, error) {
	want := b.ImpliedType()
	ty := v.Type()
	switch {
	case v.IsNull():
		return cty.NullVal(want), nil
	case ty == cty.DynamicPseudoType, !v.IsKnown() && ty.IsMapType():
		return cty.UnknownVal(want), nil
	case !ty.IsObjectType() && !ty.IsMapType():
		return cty.UnknownVal(want), path.NewErrorf("an object is required")
	}
	given := v.AsValueMap()
	if !v.IsKnown() { // the type of the unknown result must have all attributes, so fill in the missing ones
		given = make(map[string]cty.Value)
		for name, ty := range ty.AttributeTypes() {
			given[name] = cty.UnknownVal(ty)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if b.Attributes[name] == nil && b.BlockTypes[name] == nil {
			return cty.UnknownVal(want), path.NewErrorf("unexpected attribute %q", name)
		}
	}
	out := make(map[string]cty.Value, len(b.Attributes)+len(b.BlockTypes))
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		val, err := b.Attributes[name].coerce(given, name, path)
		if err != nil {
			return cty.UnknownVal(want), err
		}
		out[name] = val
	}
	for _, name := range slices.Sorted(maps.Keys(b.BlockTypes)) {
		val, err := b.BlockTypes[name].coerceAll(given, name, path.GetAttr(name))
		if err != nil {
			return cty.UnknownVal(want), err
		}
		out[name] = val
	}
	return cty.ObjectVal(out), nil
}

func (a *Attribute) coerce(given map[string]cty.Value, name string, path cty.Path) (cty.Value, error) {
	val, ok := given[name]
	if !ok {
		if a.Required {
			return cty.NilVal, path.NewErrorf("attribute %q is required", name)
		}
		return a.EmptyValue(), nil
	}
	val, err := coerce.Convert(val, a.ConfigType())
	if err != nil {
		return cty.NilVal, path.GetAttr(name).NewError(err)
	}
	return val, nil
}

// coerceAll converts the attribute called name in given, which holds all blocks of type n, to n's
// type.
func (n *NestedBlock) coerceAll(given map[string]cty.Value, name string, path cty.Path) (cty.Value, error) {
	val, ok := given[name]
	if !ok {
		return n.Absent(), n.checkCount(name, 0, path)
	}
	val, marks := val.Unmark()
	single := n.Nesting == NestingSingle || n.Nesting == NestingGroup
	switch {
	case val.IsNull():
		return n.Absent().WithMarks(marks), n.checkCount(name, 0, path)
	case single:
		out, err := n.Block.coerce(val, path)
		return out.WithMarks(marks), err
	case !val.IsKnown():
		return cty.UnknownVal(n.Type()).WithMarks(marks), nil
	case !val.CanIterateElements():
		return cty.NilVal, path.NewErrorf("must be a %s", n.Nesting)
	case n.Nesting == NestingMap:
		out, err := n.coerceKeyed(val, path)
		return out.WithMarks(marks), err
	}
	out, err := n.coerceSequence(val, path)
	if err != nil {
		return cty.NilVal, err
	}
	return out.WithMarks(marks), n.checkCount(name, val.LengthInt(), path)
}

func (n *NestedBlock) coerceSequence(val cty.Value, path cty.Path) (cty.Value, error) {
	if ty := val.Type(); ty.IsObjectType() || ty.IsMapType() {
		return cty.NilVal, path.NewErrorf("must be a %s", n.Nesting)
	}
	var elems []cty.Value
	for it := val.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		elem, err := n.Block.coerce(elem, path.Index(cty.NumberIntVal(int64(len(elems)))))
		if err != nil {
			return cty.NilVal, err
		}
		elems = append(elems, elem)
	}
	switch {
	case len(elems) == 0:
		return n.Absent(), nil
	case n.dynamic():
		return cty.TupleVal(elems), nil
	case n.Nesting == NestingSet:
		return cty.SetVal(elems), nil
	}
	return cty.ListVal(elems), nil
}

func (n *NestedBlock) coerceKeyed(val cty.Value, path cty.Path) (cty.Value, error) {
	if ty := val.Type(); !ty.IsObjectType() && !ty.IsMapType() {
		return cty.NilVal, path.NewErrorf("must be a map")
	}
	elems := make(map[string]cty.Value)
	for it := val.ElementIterator(); it.Next(); {
		key, elem := it.Element()
		elem, err := n.Block.coerce(elem, path.Index(key))
		if err != nil {
			return cty.NilVal, err
		}
		elems[key.AsString()] = elem
	}
	switch {
	case len(elems) == 0:
		return n.Absent(), nil
	case n.dynamic():
		return cty.ObjectVal(elems), nil
	}
	return cty.MapVal(elems), nil
}

func (n *NestedBlock) checkCount(name string, count int, path cty.Path) error {
	switch {
	case count < n.MinItems:
		return path.NewError(fmt.Errorf("the number of %q blocks must be at least %d", name, n.MinItems))
	case n.MaxItems > 0 && count > n.MaxItems:
		return path.NewError(fmt.Errorf("the number of %q blocks must be at most %d", name, n.MaxItems))
	}
	return nil
}
