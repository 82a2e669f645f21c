package configschema

import (
	"github.com/zclconf/go-cty/cty"
)

// ImpliedType returns the type of the block's values: an object without optional attributes.
func (b *Block) ImpliedType() cty.Type {
	if b == nil {
		return cty.EmptyObject
	}
	return b.derived.impliedType.get(func() cty.Type {
		return cty.Object(byName(b, (*Attribute).ImpliedType, (*NestedBlock).Type))
	})
}

// byName returns a map with the result of a function for each attribute and nested block type.
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

// EmptyValue returns the value of a block without content: null attributes and no nested blocks.
func (b *Block) EmptyValue() cty.Value {
	return b.derived.emptyValue.get(func() cty.Value { return cty.ObjectVal(b.emptyContent()) })
}

// emptyContent returns the attributes of EmptyValue. Callers must not change the map.
func (b *Block) emptyContent() map[string]cty.Value {
	return b.derived.emptyContent.get(func() map[string]cty.Value {
		return byName(b, (*Attribute).EmptyValue, (*NestedBlock).Absent)
	})
}

// UnknownValue returns an object whose attributes are all unknown.
func (b *Block) UnknownValue() cty.Value {
	return b.derived.unknownValue.get(func() cty.Value {
		return cty.ObjectVal(byName(b,
			func(a *Attribute) cty.Value { return cty.UnknownVal(a.ImpliedType()) },
			func(n *NestedBlock) cty.Value { return cty.UnknownVal(n.Type()) }))
	})
}

// ImpliedType returns the type of the attribute's values.
func (a *Attribute) ImpliedType() cty.Type {
	if a.NestedType != nil {
		return a.NestedType.ImpliedType()
	}
	return a.Type.WithoutOptionalAttributesDeep()
}

// ConfigType returns the type to which configured values are converted. Unlike in ImpliedType,
// attributes that a nested object may omit are optional.
func (a *Attribute) ConfigType() cty.Type {
	if a.NestedType != nil {
		return a.NestedType.ConfigType()
	}
	return a.Type
}

// EmptyValue returns null of the attribute's type.
func (a *Attribute) EmptyValue() cty.Value { return cty.NullVal(a.ImpliedType()) }

// ImpliedType returns the type of an attribute with this nested type.
func (o *Object) ImpliedType() cty.Type {
	types := make(map[string]cty.Type, len(o.Attributes))
	for name, attr := range o.Attributes {
		types[name] = attr.ImpliedType()
	}
	return o.Nesting.wrap(cty.Object(types))
}

// ConfigType is like ImpliedType, but attributes that configurations may omit are optional.
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

// wrap returns the collection type of elem for the nesting mode, or elem itself if the mode allows
// only one.
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

// Type returns the type of the value for all blocks of this type together. It is dynamic if the
// types of the blocks can differ: the blocks then form a tuple or object.
func (n *NestedBlock) Type() cty.Type {
	elem := n.Block.ImpliedType()
	if n.dynamic() {
		return cty.DynamicPseudoType
	}
	return n.Nesting.wrap(elem)
}

// dynamic reports whether the blocks' types can differ.
func (n *NestedBlock) dynamic() bool {
	return (n.Nesting == NestingList || n.Nesting == NestingMap) && n.Block.ImpliedType().HasDynamicTypes()
}

// Absent returns the value that represents no blocks of this type.
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
