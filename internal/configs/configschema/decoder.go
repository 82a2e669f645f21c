package configschema

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/dynblock"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

// mapKeyLabel names the label of blocks that are keyed by a label.
const mapKeyLabel = "key"

// DecoderSpec is the block's specification for hcldec. Where a schema needs more than hcldec offers, Decode does the rest.
func (b *Block) DecoderSpec() hcldec.Spec {
	if b == nil {
		return hcldec.ObjectSpec{}
	}
	b.derived.decoder.Do(func() {
		spec := make(hcldec.ObjectSpec, len(b.Attributes)+len(b.BlockTypes))
		for name, attr := range b.Attributes {
			spec[name] = &hcldec.AttrSpec{Name: name, Type: attr.ConfigType(), Required: attr.Required}
		}
		for name, nested := range b.BlockTypes {
			spec[name] = nested.decoderSpec(name)
		}
		b.derived.decoderSpec = spec
	})
	return b.derived.decoderSpec
}

// bodySchema is what hcldec asks of bodies of the block.
func (b *Block) bodySchema() *hcl.BodySchema {
	b.derived.body.Do(func() { b.derived.bodySchema = hcldec.ImpliedSchema(b.DecoderSpec()) })
	return b.derived.bodySchema
}

func (n *NestedBlock) decoderSpec(name string) hcldec.Spec {
	child := n.Block.DecoderSpec()
	dynamic := n.dynamic()
	switch n.Nesting {
	case NestingGroup:
		return &hcldec.DefaultSpec{
			Primary: &hcldec.BlockSpec{TypeName: name, Nested: child, Required: n.MinItems > 0},
			Default: &hcldec.LiteralSpec{Value: n.Block.EmptyValue()},
		}
	case NestingList:
		if dynamic {
			return &hcldec.BlockTupleSpec{TypeName: name, Nested: child, MinItems: n.MinItems, MaxItems: n.MaxItems}
		}
		return &hcldec.BlockListSpec{TypeName: name, Nested: child, MinItems: n.MinItems, MaxItems: n.MaxItems}
	case NestingSet:
		return &hcldec.BlockSetSpec{TypeName: name, Nested: child, MinItems: n.MinItems, MaxItems: n.MaxItems}
	case NestingMap:
		if dynamic {
			return &hcldec.BlockObjectSpec{TypeName: name, Nested: child, LabelNames: []string{mapKeyLabel}}
		}
		return &hcldec.BlockMapSpec{TypeName: name, Nested: child, LabelNames: []string{mapKeyLabel}}
	default:
		return &hcldec.BlockSpec{TypeName: name, Nested: child, Required: n.MinItems > 0}
	}
}

// Decode evaluates a body to a value of the block's type: `dynamic` blocks are expanded, attributes may be written as blocks
// where the schema allows it.
func (b *Block) Decode(body hcl.Body, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if _, ok := body.(preparedBody); !ok {
		body = b.FixUpBody(dynblock.Expand(body, ctx))
	}
	val, diags := hcldec.Decode(body, b.DecoderSpec(), ctx)
	return b.withoutOptional(val), diags
}

// Prepare gives a body that takes less time to decode again and again: one that holds nothing but attributes of the schema is taken
// apart once. Others are given back as they are.
func (b *Block) Prepare(body hcl.Body) hcl.Body {
	schema := *b.bodySchema()
	schema.Blocks = append(slices.Clip(schema.Blocks), hcl.BlockHeaderSchema{Type: "dynamic", LabelNames: []string{"type"}})
	content, diags := body.Content(&schema)
	if len(diags) > 0 || len(content.Blocks) > 0 {
		return body
	}
	return preparedBody{body, content}
}

// preparedBody is a body whose content is known: there are no blocks in it that would have to be expanded.
type preparedBody struct {
	hcl.Body
	content *hcl.BodyContent
}

// Content implements hcl.Body for the schema that the body was prepared for.
func (p preparedBody) Content(*hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	return p.content, nil
}

// variables lists what the attributes refer to, in the order in which they are written.
func (p preparedBody) variables() []hcl.Traversal {
	attrs := slices.SortedFunc(maps.Values(p.content.Attributes), func(a, b *hcl.Attribute) int { return a.Range.Start.Byte - b.Range.Start.Byte })
	var out []hcl.Traversal
	for _, attr := range attrs {
		out = append(out, attr.Expr.Variables()...)
	}
	return out
}

// withoutOptional mends a quirk of hcldec: where no block is written, the empty collection has the type that configured values
// are converted to, optional attributes included, which no other value may have.
func (b *Block) withoutOptional(val cty.Value) cty.Value {
	if !b.optionalInBlocks() {
		return val
	}
	fixed, err := cty.Transform(val, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		bare, marks := v.Unmark()
		ty := bare.Type()
		if !ty.IsCollectionType() || !bare.IsKnown() || bare.IsNull() || bare.LengthInt() > 0 {
			return v, nil
		}
		elem := ty.ElementType().WithoutOptionalAttributesDeep()
		switch {
		case ty.IsListType():
			bare = cty.ListValEmpty(elem)
		case ty.IsSetType():
			bare = cty.SetValEmpty(elem)
		default:
			bare = cty.MapValEmpty(elem)
		}
		return bare.WithMarks(marks), nil
	})
	if err != nil {
		panic("unreachable: the transformation returns no error: " + err.Error())
	}
	return fixed
}

// optionalInBlocks tells whether a nested block has an attribute of nested objects.
func (b *Block) optionalInBlocks() bool {
	for _, nested := range b.BlockTypes {
		for _, attr := range nested.Attributes {
			if attr.NestedType != nil {
				return true
			}
		}
		if nested.optionalInBlocks() {
			return true
		}
	}
	return false
}

// Variables lists what the expressions in a body refer to, those of `dynamic` blocks and of attributes written as blocks
// included. Names that a `dynamic` block defines are left out.
func (b *Block) Variables(body hcl.Body) []hcl.Traversal {
	if p, ok := body.(preparedBody); ok {
		return p.variables()
	}
	return b.variables(dynblock.WalkVariables(body), body)
}

// CertainVariables lists what a body refers to whatever its dynamic blocks make: all but what stands in their content. What nested
// dynamic blocks are repeated for counts as well.
func (b *Block) CertainVariables(body hcl.Body) []hcl.Traversal {
	return append(b.variables(dynblock.WalkExpandVariables(body), body), b.writtenVariables(body)...)
}

// writtenVariables lists what the attributes outside of dynamic blocks refer to.
func (b *Block) writtenVariables(body hcl.Body) []hcl.Traversal {
	schema, blocks := b.headers(body)
	content, _, _ := body.PartialContent(schema)
	var out []hcl.Traversal
	for _, attr := range content.Attributes {
		out = append(out, attr.Expr.Variables()...)
	}
	for _, block := range content.Blocks {
		if nested, ok := blocks[block.Type]; ok {
			out = append(out, nested.writtenVariables(block.Body)...)
		}
	}
	return out
}

// ExpandedVariables lists what a body refers to once its dynamic blocks have made what they make.
func (b *Block) ExpandedVariables(body hcl.Body, ctx *hcl.EvalContext) []hcl.Traversal {
	return hcldec.Variables(b.FixUpBody(dynblock.Expand(body, ctx)), b.DecoderSpec())
}

func (b *Block) variables(node dynblock.WalkVariablesNode, body hcl.Body) []hcl.Traversal {
	schema, blocks := b.headers(body)
	vars, children := node.Visit(schema)
	for _, child := range children {
		if nested, ok := blocks[child.BlockTypeName]; ok {
			vars = append(vars, nested.variables(child.Node, child.Body())...)
		}
	}
	return vars
}

// headers gives what a body is asked for, and the blocks among it: attributes that are written as blocks are two of these.
func (b *Block) headers(body hcl.Body) (*hcl.BodySchema, map[string]*NestedBlock) {
	schema := b.bodySchema()
	blocks := b.BlockTypes
	if asBlocks := b.writtenAsBlocks(body); len(asBlocks) > 0 {
		schema = schemaWithBlocks(schema, asBlocks)
		blocks = make(map[string]*NestedBlock, len(b.BlockTypes)+len(asBlocks))
		for name, nested := range b.BlockTypes {
			blocks[name] = nested
		}
		for name, nested := range asBlocks {
			blocks[name] = nested
		}
	}
	return schema, blocks
}
