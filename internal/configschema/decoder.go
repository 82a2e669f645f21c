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

// mapKeyLabel is the name of the label of blocks in NestingMap.
const mapKeyLabel = "key"

// DecoderSpec returns the block's specification for hcldec. Decode adds features that hcldec does
// not have.
func (b *Block) DecoderSpec() hcldec.Spec {
	if b == nil {
		return hcldec.ObjectSpec{}
	}
	return b.derived.decoderSpec.get(func() hcldec.Spec {
		spec := make(hcldec.ObjectSpec, len(b.Attributes)+len(b.BlockTypes))
		for name, attr := range b.Attributes {
			spec[name] = &hcldec.AttrSpec{Name: name, Type: attr.ConfigType(), Required: attr.Required}
		}
		for name, nested := range b.BlockTypes {
			spec[name] = nested.decoderSpec(name)
		}
		return spec
	})
}

// bodySchema returns the schema that hcldec uses for bodies of the block.
func (b *Block) bodySchema() *hcl.BodySchema {
	return b.derived.bodySchema.get(func() *hcl.BodySchema { return hcldec.ImpliedSchema(b.DecoderSpec()) })
}

// OptionalFields returns a schema with all attributes and nested blocks, for bodies of which some may be missing.
func (b *Block) OptionalFields() *hcl.BodySchema {
	out := &hcl.BodySchema{}
	for name := range b.Attributes {
		out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: name})
	}
	for name, nested := range b.BlockTypes {
		header := hcl.BlockHeaderSchema{Type: name}
		if nested.Nesting == NestingMap {
			header.LabelNames = []string{mapKeyLabel}
		}
		out.Blocks = append(out.Blocks, header)
	}
	return out
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

// Decode evaluates a body to a value of the block's type. It expands `dynamic` blocks and accepts
// blocks for attributes where the schema allows them.
func (b *Block) Decode(body hcl.Body, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if p, ok := body.(preparedBody); !ok {
		body = b.FixUpBody(markedWithin{dynblock.Expand(body, ctx)})
	} else if val, ok := b.decodeAttributes(p.args, ctx); ok {
		return val, nil
	}
	val, diags := hcldec.Decode(body, b.DecoderSpec(), ctx)
	return b.withoutOptional(val), diags
}

// decodeAttributes decodes a body without blocks. It returns false if there are diagnostics, which
// hcldec reports.
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

// Prepare returns a body that is faster to decode repeatedly. A body that has only attributes is
// split into its attributes, provided that the schema requires no blocks. Other bodies are returned
// unchanged.
func (b *Block) Prepare(body hcl.Body) hcl.Body {
	content, diags := body.Content(b.preparingSchema())
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

// Prepares reports whether Prepare splits a body with the given arguments, and without blocks.
func (b *Block) Prepares(arguments []string) bool {
	schema := b.preparingSchema()
	for _, name := range arguments {
		if b.Attributes[name] == nil {
			return false
		}
	}
	missing := func(attr hcl.AttributeSchema) bool { return attr.Required && !slices.Contains(arguments, attr.Name) }
	return !b.requiresBlocks() && !slices.ContainsFunc(schema.Attributes, missing)
}

// preparingSchema returns the body schema with `dynamic` blocks added.
func (b *Block) preparingSchema() *hcl.BodySchema {
	return b.derived.preparingSchema.get(func() *hcl.BodySchema {
		schema := *b.bodySchema()
		dynamic := hcl.BlockHeaderSchema{Type: "dynamic", LabelNames: []string{"type"}}
		schema.Blocks = append(slices.Clip(schema.Blocks), dynamic)
		return &schema
	})
}

// requiresBlocks reports whether a nested block is required.
func (b *Block) requiresBlocks() bool {
	for _, nested := range b.BlockTypes {
		if nested.MinItems > 0 {
			return true
		}
	}
	return false
}

// preparedBody is a body that consists of arguments only, in source order.
type preparedBody struct {
	hcl.Body
	args []argument
}

type argument struct {
	name string
	expr hcl.Expression
}

// Expressions returns a prepared body's expressions in source order. It reports false if body is
// not prepared and may have further expressions in blocks.
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

// withoutOptional corrects a result of hcldec. If there are no blocks, hcldec returns an empty
// collection whose element type has optional attributes. The types of values must not have optional
// attributes.
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

// optionalInBlocks reports whether a nested block has an attribute with a nested type.
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

// Variables returns the references in a body, including those in `dynamic` blocks and in attributes
// written as blocks. References to the iterators of `dynamic` blocks are left out.
func (b *Block) Variables(body hcl.Body) []hcl.Traversal {
	return b.variables(dynblock.WalkVariables(body), body)
}

// CertainVariables returns the references that are always evaluated, regardless of how many blocks
// the `dynamic` blocks generate. These are all references except those in the content of `dynamic`
// blocks. The for_each arguments of nested dynamic blocks are included.
func (b *Block) CertainVariables(body hcl.Body) []hcl.Traversal {
	return append(b.variables(dynblock.WalkExpandVariables(body), body), b.writtenVariables(body)...)
}

// writtenVariables returns the references in attributes outside of `dynamic` blocks.
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

// ExpandedVariables returns the references in a body after expansion of its dynamic blocks.
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

// headers returns the schema for the attributes and block headers of the body, and its block types.
// The block types include attributes that are written as blocks.
func (b *Block) headers(body hcl.Body) (*hcl.BodySchema, map[string]*NestedBlock) {
	schema := b.bodySchema()
	blocks := b.BlockTypes
	if asBlocks := b.writtenAsBlocks(body); len(asBlocks) > 0 {
		schema = schemaWithBlocks(schema, asBlocks)
		blocks = make(map[string]*NestedBlock, len(b.BlockTypes)+len(asBlocks))
		maps.Copy(blocks, b.BlockTypes)
		maps.Copy(blocks, asBlocks)
	}
	return schema, blocks
}
