package configs

import "github.com/hashicorp/hcl/v2"

// overriddenBody is a body overridden by another. An argument of over replaces that of base. Blocks
// of a type in over replace all blocks of that type in base, including those of dynamic blocks.
type overriddenBody struct{ base, over hcl.Body }

// overrideBody returns base overridden by over.
func overrideBody(base, over hcl.Body) hcl.Body { return overriddenBody{base, over} }

func (b overriddenBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	base, diags := b.base.Content(schema)
	over, _, more := b.over.PartialContent(optional(schema))
	return b.combine(base, over), append(diags, more...)
}

func (b overriddenBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	base, baseRest, diags := b.base.PartialContent(schema)
	over, overRest, more := b.over.PartialContent(optional(schema))
	return b.combine(base, over), overriddenBody{baseRest, overRest}, append(diags, more...)
}

func (b overriddenBody) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	out, diags := b.base.JustAttributes()
	over, more := b.over.JustAttributes()
	if out == nil {
		out = hcl.Attributes{}
	}
	for name, attr := range over {
		out[name] = attr
	}
	return out, append(diags, more...)
}

func (b overriddenBody) MissingItemRange() hcl.Range { return b.base.MissingItemRange() }

// combine merges the content of the two bodies.
func (b overriddenBody) combine(base, over *hcl.BodyContent) *hcl.BodyContent {
	out := &hcl.BodyContent{Attributes: hcl.Attributes{}, MissingItemRange: b.MissingItemRange()}
	for _, content := range []*hcl.BodyContent{base, over} {
		for name, attr := range content.Attributes {
			out.Attributes[name] = attr
		}
	}
	replaced := map[string]bool{}
	for _, block := range over.Blocks {
		replaced[generatedType(block)] = true
	}
	// Dynamic blocks in over replace blocks even if the schema does not include "dynamic".
	if dynamic, _, _ := b.over.PartialContent(dynamicSchema); dynamic != nil {
		for _, block := range dynamic.Blocks {
			replaced[generatedType(block)] = true
		}
	}
	for _, block := range base.Blocks {
		if !replaced[generatedType(block)] {
			out.Blocks = append(out.Blocks, block)
		}
	}
	out.Blocks = append(out.Blocks, over.Blocks...)
	return out
}

var dynamicSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "dynamic", LabelNames: []string{"type"}}}}

// generatedType returns the type of the blocks that block generates: its label for a dynamic block,
// else its own type.
func generatedType(block *hcl.Block) string {
	if block.Type == "dynamic" && len(block.Labels) == 1 {
		return block.Labels[0]
	}
	return block.Type
}

// optional returns the schema with nothing required: an override file sets only what it changes.
func optional(schema *hcl.BodySchema) *hcl.BodySchema {
	out := &hcl.BodySchema{Blocks: schema.Blocks, Attributes: make([]hcl.AttributeSchema, len(schema.Attributes))}
	for i, attr := range schema.Attributes {
		out.Attributes[i] = hcl.AttributeSchema{Name: attr.Name}
	}
	return out
}
