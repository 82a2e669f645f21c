package configschema

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// Offering adds spelling suggestions to the diagnostics of a failed Decode. HCL suggests only names
// in the schema, which lacks the names in also because they were removed from the body earlier.
// Offering decodes the body again with both. It returns problems unchanged if the names in also
// would be accepted here.
func (b *Block) Offering(body hcl.Body, also *hcl.BodySchema, ctx *hcl.EvalContext,
	problems hcl.Diagnostics) hcl.Diagnostics {
	if also == nil || !problems.HasErrors() {
		return problems
	}
	_, offered := b.Decode(Offered(body, also), ctx)
	if len(offered) != len(problems) {
		return problems
	}
	return offered
}

// Offered returns a body whose schemas include the names in also, for a body that can't contain
// them.
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

// with adds the names in also to the schema.
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
