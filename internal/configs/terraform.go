package configs

import (
	"github.com/hashicorp/hcl/v2"
)

// terraformSchema includes arguments that only other programs use. They have no effect.
var terraformSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "required_version"}, {Name: "experiments"}, {Name: "language"}},
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "backend", LabelNames: []string{"type"}},
		{Type: "cloud"},
		{Type: "state_store", LabelNames: []string{"type"}},
		{Type: "required_providers"},
		{Type: "provider_meta", LabelNames: []string{"provider"}},
		{Type: "encryption"},
	},
}

// decodeTerraform decodes a terraform block: settings of the module and, in the root module, of the
// whole configuration.
func decodeTerraform(d *decoder, block *hcl.Block) {
	content := d.content(block.Body, terraformSchema)
	if attr, ok := content.Attributes["required_version"]; ok {
		d.file.requiredVersions = append(d.file.requiredVersions, attr)
	}
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "backend":
			d.file.backends = append(d.file.backends, newBackend(inner))
		case "cloud":
			d.file.clouds = append(d.file.clouds, &Backend{Type: "cloud", Config: inner.Body,
				TypeRange: inner.TypeRange, Range: inner.DefRange})
		case "state_store":
			if b := decodeStateStore(d, inner); b != nil {
				d.file.backends = append(d.file.backends, b)
			}
		case "required_providers":
			d.file.requiredProviders = append(d.file.requiredProviders, decodeRequiredProviders(d, inner))
		case "provider_meta":
			d.providerName(inner.Labels[0], inner.DefRange)
			d.constantArguments(inner.Body)
			d.file.providerMetas = append(d.file.providerMetas,
				&ProviderMeta{LocalName: inner.Labels[0], Config: inner.Body, Range: inner.DefRange})
		case "encryption":
			d.encryption(inner)
		}
	}
}

func newBackend(block *hcl.Block) *Backend {
	return &Backend{Type: block.Labels[0], Config: block.Body, TypeRange: block.LabelRanges[0], Range: block.DefRange}
}

var storeProviderSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "provider",
	LabelNames: []string{"name"}}}}

// decodeStateStore decodes a state_store block. It returns nil if the block doesn't name a provider.
func decodeStateStore(d *decoder, block *hcl.Block) *Backend {
	content, rest := d.partial(block.Body, storeProviderSchema)
	var first once
	b := newBackend(block)
	for _, inner := range content.Blocks {
		if first.accept(d, inner, "Duplicate provider block", "The state_store block") {
			b.Store = &Store{Name: inner.Labels[0], Config: inner.Body, Arguments: rest, Range: inner.DefRange}
		}
	}
	if b.Store == nil {
		d.errorf(block.DefRange, "Missing provider of a state store", "The block needs a block such as `provider \"NAME\" {}`, "+
			"with the local name and the configuration of the provider that has the store %q.", b.Type)
		return nil
	}
	return b
}

// constantArguments checks that a body has only arguments without references.
func (d *decoder) constantArguments(body hcl.Body) {
	attrs, diags := body.JustAttributes()
	d.addHCL(diags)
	for _, attr := range sortedAttributes(attrs) {
		_, diags := attr.Expr.Value(nil)
		d.addHCL(diags)
	}
}
