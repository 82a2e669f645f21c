package configschema

import (
	"github.com/zclconf/go-cty/cty"
)

// ImpliedType is the type of values that conform to the block: an object without optional attributes.
func (b *Block) ImpliedType() cty.Type {
	if b == nil {
		return cty.EmptyObject
	}
	b.derived.implied.Do(func() {
		b.derived.impliedType = cty.Object(byName(b, (*Attribute).ImpliedType, (*NestedBlock).Type))
	})
	return b.derived.impliedType
}

// byName gives something for each attribute and nested block type.
func byName[T any](b *Block, ofAttribute func(*Attribute) T, ofBlocks func(*NestedBlock) T) map[string]T {
	out := make(map[string]T, len(b.Attributes)+len(b.BlockTypes))
	for name, attr := range b.Attributes {
		out[name] = ofAttribute(attr)
	}
	for name, nested := range b.BlockTypes {
		out[name] = ofBlocks(nested)
	}
	return out
}

// EmptyValue is the value of a block without content: null attributes and no nested blocks.
func (b *Block) EmptyValue() cty.Value {
	b.emptyContent()
	return b.derived.emptyValue
}

// emptyContent is EmptyValue by name. It is shared.
func (b *Block) emptyContent() map[string]cty.Value {
	b.derived.empty.Do(func() {
		vals := byName(b, (*Attribute).EmptyValue, (*NestedBlock).Absent)
		b.derived.emptyContent, b.derived.emptyValue = vals, cty.ObjectVal(vals)
	})
	return b.derived.emptyContent
}

// UnknownValue is an object of which nothing is known.
func (b *Block) UnknownValue() cty.Value {
	b.derived.unknown.Do(func() {
		b.derived.unknownValue = cty.ObjectVal(byName(b,
			func(a *Attribute) cty.Value { return cty.UnknownVal(a.ImpliedType()) },
			func(n *NestedBlock) cty.Value { return cty.UnknownVal(n.Type()) }))
	})
	return b.derived.unknownValue
}

// ImpliedType is the type of the attribute's values.
func (a *Attribute) ImpliedType() cty.Type {
	if a.NestedType != nil {
		return a.NestedType.ImpliedType()
	}
	return a.Type.WithoutOptionalAttributesDeep()
}

// ConfigType is the type that configured values are converted to. It differs from ImpliedType in that what may be left out of a
// nested object is an optional attribute.
func (a *Attribute) ConfigType() cty.Type {
	if a.NestedType != nil {
		return a.NestedType.ConfigType()
	}
	return a.Type
}

// EmptyValue is a null of the attribute's type.
func (a *Attribute) EmptyValue() cty.Value { return cty.NullVal(a.ImpliedType()) }

// ImpliedType is the type of the attribute that the object is the structure of.
func (o *Object) ImpliedType() cty.Type {
	types := make(map[string]cty.Type, len(o.Attributes))
	for name, attr := range o.Attributes {
		types[name] = attr.ImpliedType()
	}
	return o.Nesting.wrap(cty.Object(types))
}

// ConfigType is ImpliedType with every attribute that may be left out as an optional attribute.
func (o *Object) ConfigType() cty.Type {
	types := make(map[string]cty.Type, len(o.Attributes))
	var optional []string
	for name, attr := range o.Attributes {
		types[name] = attr.ConfigType()
		if !attr.Required {
			optional = append(optional, name)
		}
	}
	return o.Nesting.wrap(cty.ObjectWithOptionalAttrs(types, optional))
}

// wrap is the type of a collection of elem under the mode.
func (m NestingMode) wrap(elem cty.Type) cty.Type {
	switch m {
	case NestingList:
		return cty.List(elem)
	case NestingSet:
		return cty.Set(elem)
	case NestingMap:
		return cty.Map(elem)
	default:
		return elem
	}
}

// Type is the type of all blocks of the type together. Blocks whose content has no fixed type make tuples and objects, whose own
// type isn't known beforehand.
func (n *NestedBlock) Type() cty.Type {
	elem := n.Block.ImpliedType()
	if n.dynamic() {
		return cty.DynamicPseudoType
	}
	return n.Nesting.wrap(elem)
}

// dynamic tells whether several blocks of the type may differ in type.
func (n *NestedBlock) dynamic() bool {
	return (n.Nesting == NestingList || n.Nesting == NestingMap) && n.Block.ImpliedType().HasDynamicTypes()
}

// Absent is the value that stands for no block of the type.
func (n *NestedBlock) Absent() cty.Value {
	elem := n.Block.ImpliedType()
	switch n.Nesting {
	case NestingGroup:
		return n.Block.EmptyValue()
	case NestingList:
		if n.dynamic() {
			return cty.EmptyTupleVal
		}
		return cty.ListValEmpty(elem)
	case NestingSet:
		return cty.SetValEmpty(elem)
	case NestingMap:
		if n.dynamic() {
			return cty.EmptyObjectVal
		}
		return cty.MapValEmpty(elem)
	default:
		return cty.NullVal(elem)
	}
}
