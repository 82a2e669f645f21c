package configschema

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcldec"
)

// markedWithin is a body in which blocks generated from a sensitive value have sensitive arguments,
// but are not sensitive themselves, as in OpenTofu: both programs must store the same marks, or each
// plans to change those of the other. It hides hcldec.MarkedBody of the body.
type markedWithin struct{ hcl.Body }

func (m markedWithin) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diags := m.Body.Content(schema)
	return wrapBlocks(content), diags
}

func (m markedWithin) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, remain, diags := m.Body.PartialContent(schema)
	return wrapBlocks(content), markedWithin{remain}, diags
}

func wrapBlocks(content *hcl.BodyContent) *hcl.BodyContent {
	if content == nil || len(content.Blocks) == 0 {
		return content
	}
	out := *content
	out.Blocks = make(hcl.Blocks, len(content.Blocks))
	for i, block := range content.Blocks {
		wrapped := *block
		wrapped.Body = markedWithin{block.Body}
		out.Blocks[i] = &wrapped
	}
	return &out
}

// Unknown reports whether the body represents an unknown number of blocks.
func (m markedWithin) Unknown() bool {
	u, ok := m.Body.(hcldec.UnknownBody)
	return ok && u.Unknown()
}
