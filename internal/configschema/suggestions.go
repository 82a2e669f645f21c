package configschema

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// Suggestions adds spelling suggestions to the diagnostics of a failed Decode. HCL suggests only
// names in the schema, and the schema lacks the names in meta, such as meta-arguments. Suggestions
// therefore decodes the body again, with a schema that includes these names. If this changes the
// number of diagnostics, the body uses a name in meta where it isn't valid, and Suggestions returns
// diags unchanged.
func (b *Block) Suggestions(body hcl.Body, meta *hcl.BodySchema, ctx *hcl.EvalContext,
	diags hcl.Diagnostics) hcl.Diagnostics {
	if meta == nil || !diags.HasErrors() {
		return diags
	}
	_, suggested := b.Decode(SuggestionBody(body, meta), ctx)
	if len(suggested) != len(diags) {
		return diags
	}
	return suggested
}

// SuggestionBody wraps a body so that HCL also suggests the names in meta. The body itself must not
// contain those names.
func SuggestionBody(body hcl.Body, meta *hcl.BodySchema) hcl.Body { return suggestionBody{body, meta} }

type suggestionBody struct {
	hcl.Body
	meta *hcl.BodySchema
}

func (s suggestionBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	return s.Body.Content(s.with(schema))
}

func (s suggestionBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, rest, diags := s.Body.PartialContent(schema)
	return content, suggestionBody{rest, s.meta}, diags
}

// with returns the schema extended by the names in meta.
func (s suggestionBody) with(schema *hcl.BodySchema) *hcl.BodySchema {
	taken := map[string]bool{}
	for _, attr := range schema.Attributes {
		taken[attr.Name] = true
	}
	for _, block := range schema.Blocks {
		taken[block.Type] = true
	}
	out := &hcl.BodySchema{Attributes: slices.Clone(schema.Attributes), Blocks: slices.Clone(schema.Blocks)}
	for _, attr := range s.meta.Attributes {
		if !taken[attr.Name] {
			out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: attr.Name})
		}
	}
	for _, block := range s.meta.Blocks {
		if !taken[block.Type] {
			out.Blocks = append(out.Blocks, block)
		}
	}
	return out
}
