package configs

import (
	"github.com/hashicorp/hcl/v2"
)

// blockKind is one type of top-level block.
type blockKind struct {
	name   string
	labels []string
	decode func(d *decoder, block *hcl.Block)
}

// blocks lists the block types of a configuration file. A new block type needs a type in config.go,
// a decoder in a file of its own, and a row here. A top-level required_providers block is an error;
// its row is for a message that says where the block belongs.
var blocks = []blockKind{
	{"terraform", nil, decodeTerraform},
	{"language", nil, decodeLanguage},
	{"required_providers", nil, decodeStrayRequiredProviders},
	{"provider", []string{"name"}, decodeProvider},
	{"variable", []string{"name"}, decodeVariable},
	{"locals", nil, decodeLocals},
	{"output", []string{"name"}, decodeOutput},
	{"module", []string{"name"}, decodeModuleCall},
	{"resource", []string{"type", "name"}, decodeManaged},
	{"data", []string{"type", "name"}, decodeData},
	{"ephemeral", []string{"type", "name"}, decodeEphemeral},
	{"action", []string{"type", "name"}, decodeAction},
	{"check", []string{"name"}, decodeCheck},
	{"symbols", []string{"name"}, decodeSymbols},
	{"moved", nil, decodeMoved},
	{"import", nil, decodeImport},
	{"removed", nil, decodeRemoved},
}

var (
	fileSchema    = schemaOf(blocks)
	blockDecoders = decodersOf(blocks)
)

func schemaOf(kinds []blockKind) *hcl.BodySchema {
	schema := &hcl.BodySchema{}
	for _, k := range kinds {
		schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: k.name, LabelNames: k.labels})
	}
	return schema
}

func decodersOf(kinds []blockKind) map[string]func(*decoder, *hcl.Block) {
	out := make(map[string]func(*decoder, *hcl.Block), len(kinds))
	for _, k := range kinds {
		out[k.name] = k.decode
	}
	return out
}
