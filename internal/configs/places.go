package configs

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/configschema"
)

// Places returns the ranges where a body sets the attributes and blocks of the schema, by name. The
// ranges cover whole attributes and blocks. In JSON syntax the range of a block covers only its
// beginning.
func Places(body hcl.Body, schema *configschema.Block) map[string][]hcl.Range {
	want := &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "dynamic", LabelNames: []string{"type"}}}}
	for name := range schema.Attributes {
		want.Attributes = append(want.Attributes, hcl.AttributeSchema{Name: name})
	}
	for name := range schema.BlockTypes {
		want.Blocks = append(want.Blocks, hcl.BlockHeaderSchema{Type: name})
	}
	out := map[string][]hcl.Range{}
	content, _, _ := body.PartialContent(want) // errors were reported when the block was evaluated
	if content == nil {
		return out
	}
	for name, attr := range content.Attributes {
		out[name] = append(out[name], attr.Range)
	}
	for _, block := range content.Blocks {
		name, at := block.Type, block.DefRange
		if len(block.Labels) > 0 {
			name = block.Labels[0]
		}
		if native, ok := block.Body.(*hclsyntax.Body); ok {
			at = hcl.RangeBetween(at, native.EndRange)
		}
		out[name] = append(out[name], at)
	}
	return out
}
