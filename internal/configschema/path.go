package configschema

import "github.com/zclconf/go-cty/cty"

// AttributeByPath returns the attribute at path. If path continues into the value of an attribute,
// it returns that attribute. It returns nil if the schema has no such attribute.
func (b *Block) AttributeByPath(path cty.Path) *Attribute {
	block, rest := b, path
	for len(rest) > 0 {
		name, ok := stepName(rest[0])
		if !ok {
			return nil
		}
		if attr := block.Attributes[name]; attr != nil {
			return attr.byPath(rest[1:])
		}
		block, rest = block.into(name, rest[1:])
		if block == nil {
			return nil
		}
	}
	return nil
}

// BlockByPath returns the schema of the block at path, or nil.
func (b *Block) BlockByPath(path cty.Path) *Block {
	block, rest := b, path
	for len(rest) > 0 && block != nil {
		name, ok := stepName(rest[0])
		if !ok {
			return nil
		}
		block, rest = block.into(name, rest[1:])
	}
	return block
}

// into returns the schema of a nested block, and the rest of the path after the block's index.
func (b *Block) into(name string, rest cty.Path) (*Block, cty.Path) {
	nested := b.BlockTypes[name]
	if nested == nil {
		return nil, nil
	}
	return &nested.Block, afterIndex(nested.Nesting, rest)
}

func (a *Attribute) byPath(rest cty.Path) *Attribute {
	if a.NestedType == nil {
		return a
	}
	rest = afterIndex(a.NestedType.Nesting, rest)
	if len(rest) == 0 {
		return a
	}
	name, ok := stepName(rest[0])
	if !ok || a.NestedType.Attributes[name] == nil {
		return nil
	}
	return a.NestedType.Attributes[name].byPath(rest[1:])
}

func afterIndex(m NestingMode, path cty.Path) cty.Path {
	if m == NestingSingle || m == NestingGroup || len(path) == 0 {
		return path
	}
	return path[1:]
}

// stepName returns the attribute name of a step. An index with a string is accepted too, because
// some providers write attribute steps this way.
func stepName(step cty.PathStep) (string, bool) {
	switch step := step.(type) {
	case cty.GetAttrStep:
		return step.Name, true
	case cty.IndexStep:
		if step.Key.Type() == cty.String && step.Key.IsKnown() && !step.Key.IsNull() {
			return step.Key.AsString(), true
		}
	}
	return "", false
}
