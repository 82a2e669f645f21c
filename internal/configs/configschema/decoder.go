package configschema

import (
	"iter"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/dynblock"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/coerce"
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
	if p, ok := body.(preparedBody); !ok {
		body = b.FixUpBody(dynblock.Expand(body, ctx))
	} else if val, ok := b.decodeAttributes(p.args, ctx); ok {
		return val, nil
	}
	val, diags := hcldec.Decode(body, b.DecoderSpec(), ctx)
	return b.withoutOptional(val), diags
}

// decodeAttributes decodes a body that has no blocks. It doesn't where there is something to say: that is hcldec's to do.
func (b *Block) decodeAttributes(args []argument, ctx *hcl.EvalContext) (val cty.Value, ok bool) {
	vals := maps.Clone(b.emptyContent())
	for _, arg := range args {
		val, diags := arg.expr.Value(ctx)
		if len(diags) > 0 {
			return cty.NilVal, false
		}
		val, err := coerce.Convert(val, b.Attributes[arg.name].ConfigType())
		if err != nil {
			return cty.NilVal, false
		}
		vals[arg.name] = val
	}
	return cty.ObjectVal(vals), true
}

// Prepare gives a body that takes less time to decode again and again: one that holds nothing but attributes of the schema, and needs
// no blocks, is taken apart once. Others are given back as they are.
func (b *Block) Prepare(body hcl.Body) hcl.Body {
	b.derived.preparing.Do(func() {
		schema := *b.bodySchema()
		schema.Blocks = append(slices.Clip(schema.Blocks), hcl.BlockHeaderSchema{Type: "dynamic", LabelNames: []string{"type"}})
		b.derived.preparingSchema = &schema
	})
	content, diags := body.Content(b.derived.preparingSchema)
	if len(diags) > 0 || len(content.Blocks) > 0 || b.requiresBlocks() {
		return body
	}
	attrs := slices.Collect(maps.Values(content.Attributes))
	slices.SortFunc(attrs, func(a, b *hcl.Attribute) int { return a.Range.Start.Byte - b.Range.Start.Byte })
	p := preparedBody{body, make([]argument, len(attrs))}
	for i, attr := range attrs {
		p.args[i] = argument{attr.Name, attr.Expr}
	}
	return p
}

// requiresBlocks tells whether the content isn't complete without some block.
func (b *Block) requiresBlocks() bool {
	for _, nested := range b.BlockTypes {
		if nested.MinItems > 0 {
			return true
		}
	}
	return false
}

// preparedBody is a body that holds nothing but these arguments, in the order in which they are written.
type preparedBody struct {
	hcl.Body
	args []argument
}

type argument struct {
	name string
	expr hcl.Expression
}

// Expressions gives a prepared body's expressions in the order in which they are written; ok is false for a body that has, or may
// have, others in blocks.
func Expressions(body hcl.Body) (exprs iter.Seq[hcl.Expression], ok bool) {
	p, ok := body.(preparedBody)
	return func(yield func(hcl.Expression) bool) {
		for _, arg := range p.args {
			if !yield(arg.expr) {
				return
			}
		}
	}, ok
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
