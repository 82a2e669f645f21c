package moduletest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/lang/coerce"
)

// generator generates values instead of those that a provider would compute. For the same object,
// it always generates the same values. For different objects, it generates different ones.
type generator struct {
	seed    string
	unknown bool // generated and given values are unknown
}

// block completes the configuration of a block. Computed attributes that are not set get the given
// values or generated ones. A null or unknown configuration is not changed.
func (g *generator) block(schema *configschema.Block, config, values cty.Value, path cty.Path) (cty.Value, error) {
	if config.IsNull() || !config.IsKnown() {
		return config, nil
	}
	given := values.AsValueMap()
	var err error
	out := config.AsValueMap()
	if out == nil {
		out = map[string]cty.Value{}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Attributes)) {
		value, ok := given[name]
		out[name], err = g.attribute(schema.Attributes[name], out[name], value, ok, extend(path, name))
		if err != nil {
			return cty.NilVal, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.BlockTypes)) {
		value, ok := given[name]
		if !ok {
			value = cty.EmptyObjectVal
		}
		out[name], err = g.blocks(schema.BlockTypes[name], out[name], value, extend(path, name))
		if err != nil {
			return cty.NilVal, err
		}
	}
	return cty.ObjectVal(out), nil
}

func extend(path cty.Path, name string) cty.Path {
	return append(slices.Clip(path), cty.GetAttrStep{Name: name})
}

// checkValues checks the given values against the schema of a block. Only computed attributes may
// have values. The value for a type of nested block is an object, which applies to all blocks of
// that type.
func checkValues(schema *configschema.Block, values cty.Value, path cty.Path) error {
	ty := values.Type()
	if values.IsNull() || !ty.IsObjectType() && !ty.IsMapType() {
		return path.NewErrorf("an object with values for the block's attributes is required")
	}
	given := values.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := extend(path, name)
		switch attr, block := schema.Attributes[name], schema.BlockTypes[name]; {
		case block != nil:
			if err := checkValues(&block.Block, given[name], at); err != nil {
				return err
			}
		case attr == nil:
			return path.NewErrorf("there is no attribute or block %q", name)
		case !attr.Computed:
			return at.NewErrorf("this attribute is not computed by the provider, so it can't be mocked: its " +
				"value is that of the configuration")
		}
	}
	return nil
}

func (g *generator) attribute(
	attr *configschema.Attribute, config, value cty.Value, given bool, path cty.Path,
) (cty.Value, error) {
	switch {
	case attr.WriteOnly:
		return cty.NullVal(attr.ImpliedType()), nil
	case !config.IsNull():
		if attr.NestedType != nil && config.IsKnown() {
			return g.nested(attr.NestedType, config, path)
		}
		return config, nil
	case !attr.Computed:
		return config, nil
	case g.unknown:
		return cty.UnknownVal(attr.ImpliedType()), nil
	case given:
		return g.convert(attr, value, path)
	case attr.NestedType != nil:
		return g.emptyNested(attr.NestedType, path)
	}
	return g.generate(attr.Type, path), nil
}

// convert converts a given value to the type of an attribute, and generates the missing parts of
// objects.
func (g *generator) convert(attr *configschema.Attribute, value cty.Value, path cty.Path) (cty.Value, error) {
	want := attr.ImpliedType()
	if want.IsObjectType() && value.Type().IsObjectType() && !value.IsNull() && value.IsKnown() {
		attrs := value.AsValueMap()
		if attrs == nil {
			attrs = map[string]cty.Value{}
		}
		for name := range attrs {
			if !want.HasAttribute(name) {
				return cty.NilVal, path.NewErrorf("there is no attribute %q", name)
			}
		}
		for name, ty := range want.AttributeTypes() {
			if _, ok := attrs[name]; !ok {
				attrs[name] = g.generate(ty, extend(path, name))
			}
		}
		value = cty.ObjectVal(attrs)
	}
	out, err := coerce.Convert(value, want)
	if err != nil {
		return cty.NilVal, path.NewError(err)
	}
	return out, nil
}

// nested completes nested attributes that are configured.
func (g *generator) nested(obj *configschema.Object, config cty.Value, path cty.Path) (cty.Value, error) {
	if obj.Nesting == configschema.NestingSingle {
		return g.nestedObject(obj, config, path)
	}
	return mapElements(config, func(key string, elem cty.Value) (cty.Value, error) {
		return g.nestedObject(obj, elem, extend(path, key))
	})
}

func (g *generator) nestedObject(obj *configschema.Object, config cty.Value, path cty.Path) (cty.Value, error) {
	if config.IsNull() || !config.IsKnown() {
		return config, nil
	}
	out := config.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(obj.Attributes)) {
		v, err := g.attribute(obj.Attributes[name], out[name], cty.NilVal, false, extend(path, name))
		if err != nil {
			return cty.NilVal, err
		}
		out[name] = v
	}
	return cty.ObjectVal(out), nil
}

// emptyNested generates the value of a nested attribute that is not configured.
func (g *generator) emptyNested(obj *configschema.Object, path cty.Path) (cty.Value, error) {
	if obj.Nesting != configschema.NestingSingle {
		return g.generate(obj.ImpliedType(), path), nil
	}
	attrs := make(map[string]cty.Value, len(obj.Attributes))
	for name, attr := range obj.Attributes {
		attrs[name] = cty.NullVal(attr.ImpliedType())
	}
	if len(attrs) == 0 {
		return cty.EmptyObjectVal, nil
	}
	return g.nestedObject(obj, cty.ObjectVal(attrs), path)
}

// blocks completes all nested blocks of one type.
func (g *generator) blocks(
	schema *configschema.NestedBlock, config, values cty.Value, path cty.Path,
) (cty.Value, error) {
	switch {
	case config.IsNull() || !config.IsKnown():
		return config, nil
	case schema.Nesting == configschema.NestingSingle || schema.Nesting == configschema.NestingGroup:
		return g.block(&schema.Block, config, values, path)
	}
	return mapElements(config, func(key string, elem cty.Value) (cty.Value, error) {
		return g.block(&schema.Block, elem, values, extend(path, key))
	})
}

// mapElements returns a collection of the same kind as v, with f applied to each element.
func mapElements(v cty.Value, f func(key string, elem cty.Value) (cty.Value, error)) (cty.Value, error) {
	ty := v.Type()
	if v.LengthInt() == 0 {
		return v, nil
	}
	var list []cty.Value
	byKey := map[string]cty.Value{}
	for it := v.ElementIterator(); it.Next(); {
		key, elem := it.Element()
		name := fmt.Sprint(len(list))
		if key.Type() == cty.String && !ty.IsSetType() {
			name = key.AsString()
		}
		out, err := f(name, elem)
		if err != nil {
			return cty.NilVal, err
		}
		list = append(list, out)
		byKey[name] = out
	}
	switch {
	case ty.IsListType():
		return cty.ListVal(list), nil
	case ty.IsSetType():
		return cty.SetVal(list), nil
	case ty.IsTupleType():
		return cty.TupleVal(list), nil
	case ty.IsMapType():
		return cty.MapVal(byKey), nil
	}
	return cty.ObjectVal(byKey), nil
}

// generate generates a value of a type.
func (g *generator) generate(ty cty.Type, path cty.Path) cty.Value {
	switch {
	case ty == cty.String:
		return cty.StringVal(g.text(path))
	case ty == cty.Number:
		return cty.Zero
	case ty == cty.Bool:
		return cty.False
	case ty.IsListType():
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsMapType():
		return cty.MapValEmpty(ty.ElementType())
	case ty.IsObjectType():
		attrs := map[string]cty.Value{}
		for name, attr := range ty.AttributeTypes() {
			attrs[name] = g.generate(attr, extend(path, name))
		}
		return cty.ObjectVal(attrs)
	case ty.IsTupleType():
		var elems []cty.Value
		for i, elem := range ty.TupleElementTypes() {
			elems = append(elems, g.generate(elem, extend(path, fmt.Sprint(i))))
		}
		return cty.TupleVal(elems)
	}
	return cty.NullVal(ty) // there is no natural value for other types
}

const (
	letters    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	textLength = 12
)

// text generates a word of letters and digits that is unique to the object and the path.
func (g *generator) text(path cty.Path) string {
	h := sha256.New()
	h.Write([]byte(g.seed))
	for _, step := range path {
		if attr, ok := step.(cty.GetAttrStep); ok {
			h.Write([]byte("\x00" + attr.Name))
		}
	}
	sum := h.Sum(nil)
	out := make([]byte, textLength)
	for i := range out {
		out[i] = letters[int(sum[i])%len(letters)]
	}
	return string(out)
}
