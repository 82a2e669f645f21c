package configs

import "github.com/hashicorp/hcl/v2"

// overriddenBody is a body overridden by another: an argument of over replaces that of base, and the blocks of a type in over replace
// all blocks of that type in base, those that dynamic blocks make included.
type overriddenBody struct{ base, over hcl.Body }

// overrideBody lays over on base.
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

// combine joins what the two bodies hold.
func (b overriddenBody) combine(base, over *hcl.BodyContent) *hcl.BodyContent {
	out := &hcl.BodyContent{Attributes: hcl.Attributes{}, MissingItemRange: b.MissingItemRange()}
	for _, content := range []*hcl.BodyContent{base, over} {
		for name, attr := range content.Attributes {
			out.Attributes[name] = attr
		}
	}
	replaced := map[string]bool{}
	for _, block := range over.Blocks {
		replaced[madeType(block)] = true
	}
	// What dynamic blocks replace is replaced also where the schema doesn't ask for them.
	if dynamic, _, _ := b.over.PartialContent(dynamicSchema); dynamic != nil {
		for _, block := range dynamic.Blocks {
			replaced[madeType(block)] = true
		}
	}
	for _, block := range base.Blocks {
		if !replaced[madeType(block)] {
			out.Blocks = append(out.Blocks, block)
		}
	}
	out.Blocks = append(out.Blocks, over.Blocks...)
	return out
}

var dynamicSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "dynamic", LabelNames: []string{"type"}}}}

// madeType is the type of the blocks that a block stands for.
func madeType(block *hcl.Block) string {
	if block.Type == "dynamic" && len(block.Labels) == 1 {
		return block.Labels[0]
	}
	return block.Type
}

// optional gives the schema with nothing required: an override file says only what is to be different.
func optional(schema *hcl.BodySchema) *hcl.BodySchema {
	out := &hcl.BodySchema{Blocks: schema.Blocks, Attributes: make([]hcl.AttributeSchema, len(schema.Attributes))}
	for i, attr := range schema.Attributes {
		out.Attributes[i] = hcl.AttributeSchema{Name: attr.Name}
	}
	return out
}
