package configs

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/configs/configschema"
)

// Places returns where a body sets attributes and has blocks of the schema, by name: the whole
// attribute, and the header of the first block of a type.
func Places(body hcl.Body, schema *configschema.Block) map[string]hcl.Range {
	want := &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "dynamic", LabelNames: []string{"type"}}}}
	for name := range schema.Attributes {
		want.Attributes = append(want.Attributes, hcl.AttributeSchema{Name: name})
	}
	for name := range schema.BlockTypes {
		want.Blocks = append(want.Blocks, hcl.BlockHeaderSchema{Type: name})
	}
	out := map[string]hcl.Range{}
	content, _, _ := body.PartialContent(want) // errors were reported when the block was evaluated
	if content == nil {
		return out
	}
	for name, attr := range content.Attributes {
		out[name] = attr.Range
	}
	for _, block := range content.Blocks {
		name := block.Type
		if len(block.Labels) > 0 {
			name = block.Labels[0]
		}
		if _, ok := out[name]; !ok {
			out[name] = block.DefRange
		}
	}
	return out
}
