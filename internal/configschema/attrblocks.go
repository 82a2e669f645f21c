package configschema

import (
	"fmt"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/coerce"
)

// In the "attributes as blocks" mode of the provider SDK, a block type is declared as an attribute
// whose type is a list or set of objects. This lets users write `name = []` to set no blocks, which
// is different from not writing the argument. Configurations may use either notation. HCL does not
// support this, so the body is wrapped:
//
//	example { foo = 1 }        there are blocks of this type but no attribute: the wrapper adds an
//	example { foo = 2 }        attribute "example" whose expression evaluates to the decoded blocks
//
//	example = [ ... ]          the attribute exists: nothing changes; HCL rejects additional blocks
//
// In JSON both notations look the same and are treated as the attribute.

// FixUpBody returns the body with blocks converted to attributes where the schema has attributes
// that may be written as blocks. Without such attributes, as in most schemas, it returns the body
// unchanged. `dynamic` blocks must be expanded first.
func (b *Block) FixUpBody(body hcl.Body) hcl.Body {
	if !b.hasBlocksForAttributes() {
		return body
	}
	return &fixedBody{Body: body, schema: b}
}

// blocksForAttributes returns the equivalent block type of each attribute that may be written as
// blocks.
func (b *Block) blocksForAttributes() map[string]*NestedBlock {
	return b.derived.attrBlocks.get(func() map[string]*NestedBlock {
		var out map[string]*NestedBlock
		for name, attr := range b.Attributes {
			if attr.NestedType != nil || attr.Type == cty.NilType || !asBlocks(attr.Type) {
				continue
			}
			if out == nil {
				out = make(map[string]*NestedBlock)
			}
			out[name] = blockForType(attr.Type)
		}
		return out
	})
}

// hasBlocksForAttributes reports whether the block or a nested one has attributes that may be
// written as blocks.
func (b *Block) hasBlocksForAttributes() bool {
	return b.derived.hasAttrBlocks.get(func() bool {
		if len(b.blocksForAttributes()) > 0 {
			return true
		}
		for _, nested := range b.BlockTypes {
			if nested.hasBlocksForAttributes() {
				return true
			}
		}
		return false
	})
}

func asBlocks(ty cty.Type) bool {
	return (ty.IsListType() || ty.IsSetType()) && ty.ElementType().IsObjectType()
}

// blockForType returns the block type whose blocks decode to a value of type ty.
func blockForType(ty cty.Type) *NestedBlock {
	nested := &NestedBlock{Nesting: NestingList}
	if ty.IsSetType() {
		nested.Nesting = NestingSet
	}
	types := ty.ElementType().AttributeTypes()
	nested.Attributes = make(map[string]*Attribute, len(types))
	for name, ty := range types {
		nested.Attributes[name] = &Attribute{Type: ty, Optional: true}
	}
	return nested
}

// writtenAsBlocks returns the block types of the attributes that may be written as blocks and that
// the body doesn't set in attribute syntax. It includes attributes without any block in the body,
// because a `dynamic` block can expand to no blocks.
func (b *Block) writtenAsBlocks(body hcl.Body) map[string]*NestedBlock {
	candidates := b.blocksForAttributes()
	if len(candidates) == 0 {
		return nil
	}
	names := make([]hcl.AttributeSchema, 0, len(candidates))
	for name := range candidates {
		names = append(names, hcl.AttributeSchema{Name: name})
	}
	content, _, _ := body.PartialContent(&hcl.BodySchema{Attributes: names})
	found := make(map[string]*NestedBlock, len(candidates))
	for name, nested := range candidates {
		if _, isAttr := content.Attributes[name]; !isAttr {
			found[name] = nested
		}
	}
	return found
}

// schemaWithBlocks returns the schema with the given attributes changed to block types.
func schemaWithBlocks(schema *hcl.BodySchema, blocks map[string]*NestedBlock) *hcl.BodySchema {
	out := &hcl.BodySchema{Blocks: append([]hcl.BlockHeaderSchema(nil), schema.Blocks...)}
	for _, attr := range schema.Attributes {
		if blocks[attr.Name] != nil {
			out.Blocks = append(out.Blocks, hcl.BlockHeaderSchema{Type: attr.Name})
		} else {
			out.Attributes = append(out.Attributes, attr)
		}
	}
	return out
}

// fixedBody is a body in which blocks are converted to attributes, including those in nested
// blocks.
type fixedBody struct {
	hcl.Body
	schema *Block
}

func (f *fixedBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	asBlocks := f.schema.writtenAsBlocks(f.Body)
	content, diags := f.Body.Content(schemaWithBlocks(schema, asBlocks))
	content = f.fix(content, asBlocks)
	return content, append(diags, missing(schema, content, asBlocks)...)
}

func (f *fixedBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	asBlocks := f.schema.writtenAsBlocks(f.Body)
	content, remain, diags := f.Body.PartialContent(schemaWithBlocks(schema, asBlocks))
	content = f.fix(content, asBlocks)
	return content, &fixedBody{Body: remain, schema: f.schema}, append(diags, missing(schema, content, asBlocks)...)
}

// missing reports required attributes that are set neither as attributes nor as blocks.
func missing(schema *hcl.BodySchema, content *hcl.BodyContent, asBlocks map[string]*NestedBlock) hcl.Diagnostics {
	var diags hcl.Diagnostics
	for _, attr := range schema.Attributes {
		if !attr.Required || asBlocks[attr.Name] == nil || content == nil || content.Attributes[attr.Name] != nil {
			continue
		}
		diags = append(diags, &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: "Missing required argument",
			Detail:  fmt.Sprintf("The argument %q is required, but no definition was found.", attr.Name),
			Subject: content.MissingItemRange.Ptr(),
		})
	}
	return diags
}

// Unknown reports whether the body represents an unknown number of blocks.
func (f *fixedBody) Unknown() bool {
	u, ok := f.Body.(hcldec.UnknownBody)
	return ok && u.Unknown()
}

func (f *fixedBody) fix(content *hcl.BodyContent, asBlocks map[string]*NestedBlock) *hcl.BodyContent {
	if content == nil {
		return nil
	}
	out := &hcl.BodyContent{Attributes: make(hcl.Attributes, len(content.Attributes)),
		MissingItemRange: content.MissingItemRange}
	maps.Copy(out.Attributes, content.Attributes)
	exprs := make(map[string]*blocksExpr)
	for _, block := range content.Blocks {
		if nested := asBlocks[block.Type]; nested != nil {
			expr := exprs[block.Type]
			if expr == nil {
				expr = &blocksExpr{name: block.Type, nested: nested}
				exprs[block.Type] = expr
				out.Attributes[block.Type] = &hcl.Attribute{
					Name: block.Type, Expr: expr, Range: block.DefRange, NameRange: block.TypeRange,
				}
			}
			expr.blocks = append(expr.blocks, block)
			continue
		}
		if nested := f.schema.BlockTypes[block.Type]; nested != nil {
			fixed := *block
			fixed.Body = nested.FixUpBody(block.Body)
			block = &fixed
		}
		out.Blocks = append(out.Blocks, block)
	}
	return out
}

// blocksExpr is the expression of an attribute that is written as blocks.
type blocksExpr struct {
	name   string
	nested *NestedBlock
	blocks hcl.Blocks
}

// Value decodes the blocks to a list or set. An unknown number of blocks becomes one element with
// unknown arguments, as providers with such attributes expect.
func (e *blocksExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	vals := make([]cty.Value, 0, len(e.blocks))
	for _, block := range e.blocks {
		val, more := hcldec.Decode(e.nested.FixUpBody(block.Body), e.nested.Block.DecoderSpec(), ctx)
		diags = append(diags, more...)
		vals = append(vals, val)
	}
	want := e.nested.Nesting.wrap(e.nested.Block.ImpliedType())
	if diags.HasErrors() {
		return cty.UnknownVal(want), diags
	}
	val, err := coerce.Convert(cty.TupleVal(vals), want)
	if err != nil {
		diags = append(diags, &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Inconsistent argument types in " + e.name + " blocks",
			Detail:   "All blocks of this type must have arguments of the same types: " + err.Error() + ".",
			Subject:  e.Range().Ptr(),
		})
		return cty.UnknownVal(want), diags
	}
	return val, diags
}

// Variables returns the references in the blocks.
func (e *blocksExpr) Variables() []hcl.Traversal {
	var vars []hcl.Traversal
	for _, block := range e.blocks {
		vars = append(vars, hcldec.Variables(e.nested.FixUpBody(block.Body), e.nested.Block.DecoderSpec())...)
	}
	return vars
}

func (e *blocksExpr) Range() hcl.Range      { return e.blocks[0].DefRange }
func (e *blocksExpr) StartRange() hcl.Range { return e.blocks[0].DefRange }
