package configschema

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// Offering decodes a body once more that had problems, to offer the names in also to who misspells one of them: HCL offers what is in
// the schema that it is asked for, which for the rest of a body doesn't have the names that were taken out of it before. The problems
// that it gives are those of the first time, unless the names in also would be accepted here.
func (b *Block) Offering(body hcl.Body, also *hcl.BodySchema, ctx *hcl.EvalContext, problems hcl.Diagnostics) hcl.Diagnostics {
	if also == nil || !problems.HasErrors() {
		return problems
	}
	_, offered := b.Decode(Offered(body, also), ctx)
	if len(offered) != len(problems) {
		return problems
	}
	return offered
}

// Offered is a body that expects the names in also, too. It is for bodies that can't have them any more.
func Offered(body hcl.Body, also *hcl.BodySchema) hcl.Body { return offeredBody{body, also} }

type offeredBody struct {
	hcl.Body
	also *hcl.BodySchema
}

func (o offeredBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	return o.Body.Content(o.with(schema))
}

func (o offeredBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, rest, diags := o.Body.PartialContent(schema)
	return content, offeredBody{rest, o.also}, diags
}

// with adds the names to a schema that doesn't have them.
func (o offeredBody) with(schema *hcl.BodySchema) *hcl.BodySchema {
	taken := map[string]bool{}
	for _, attr := range schema.Attributes {
		taken[attr.Name] = true
	}
	for _, block := range schema.Blocks {
		taken[block.Type] = true
	}
	out := &hcl.BodySchema{Attributes: slices.Clone(schema.Attributes), Blocks: slices.Clone(schema.Blocks)}
	for _, attr := range o.also.Attributes {
		if !taken[attr.Name] {
			out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: attr.Name})
		}
	}
	for _, block := range o.also.Blocks {
		if !taken[block.Type] {
			out.Blocks = append(out.Blocks, block)
		}
	}
	return out
}
