package configs

import "github.com/hashicorp/hcl/v2"

// overlay is a body overridden by another: an argument of over replaces that of base, and the blocks of a type in over replace all
// blocks of that type in base, those that dynamic blocks make included.
type overlay struct{ base, over hcl.Body }

// overlayBody lays over on base.
func overlayBody(base, over hcl.Body) hcl.Body { return overlay{base, over} }

func (b overlay) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	base, diags := b.base.Content(optional(schema))
	over, more := b.over.Content(optional(schema))
	content := b.combine(base, over)
	return content, append(append(diags, more...), b.missing(content, schema)...)
}

func (b overlay) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	base, baseRest, diags := b.base.PartialContent(optional(schema))
	over, overRest, more := b.over.PartialContent(optional(schema))
	content := b.combine(base, over)
	return content, overlay{baseRest, overRest}, append(append(diags, more...), b.missing(content, schema)...)
}

func (b overlay) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
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

func (b overlay) MissingItemRange() hcl.Range { return b.base.MissingItemRange() }

// combine joins what the two bodies hold.
func (b overlay) combine(base, over *hcl.BodyContent) *hcl.BodyContent {
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
	for _, block := range base.Blocks {
		if !replaced[madeType(block)] {
			out.Blocks = append(out.Blocks, block)
		}
	}
	out.Blocks = append(out.Blocks, over.Blocks...)
	return out
}

// madeType is the type of the blocks that a block stands for.
func madeType(block *hcl.Block) string {
	if block.Type == "dynamic" && len(block.Labels) == 1 {
		return block.Labels[0]
	}
	return block.Type
}

// optional gives the schema with nothing required: what one body lacks, the other may have.
func optional(schema *hcl.BodySchema) *hcl.BodySchema {
	out := &hcl.BodySchema{Blocks: schema.Blocks, Attributes: make([]hcl.AttributeSchema, len(schema.Attributes))}
	for i, attr := range schema.Attributes {
		out.Attributes[i] = hcl.AttributeSchema{Name: attr.Name}
	}
	return out
}

func (b overlay) missing(content *hcl.BodyContent, schema *hcl.BodySchema) hcl.Diagnostics {
	var diags hcl.Diagnostics
	for _, attr := range schema.Attributes {
		if attr.Required && content.Attributes[attr.Name] == nil {
			at := b.MissingItemRange()
			diags = append(diags, &hcl.Diagnostic{
				Severity: hcl.DiagError, Summary: "Missing required argument",
				Detail: "The argument \"" + attr.Name + "\" is required, but no definition was found.", Subject: &at,
			})
		}
	}
	return diags
}
