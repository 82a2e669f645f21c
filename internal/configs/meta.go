package configs

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
)

// These schemas describe the arguments and nested blocks that the language adds to those of a
// provider, a provisioner or a module. They are used for spelling suggestions.
var (
	managedMeta     = meta(managedKind.schema)
	dataMeta        = meta(dataKind.schema)
	ephemeralMeta   = &hcl.BodySchema{Attributes: commonAttributes, Blocks: dataMeta.Blocks}
	providerMeta    = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "alias"}, {Name: "for_each"}}}
	provisionerMeta = &hcl.BodySchema{Attributes: provisionerSchema.Attributes,
		Blocks: []hcl.BlockHeaderSchema{{Type: "connection"}}}
	moduleMeta = &hcl.BodySchema{Attributes: moduleSchemas[false].Attributes,
		Blocks: []hcl.BlockHeaderSchema{{Type: "lifecycle"}}}
)

// meta returns the schema without reserved blocks and without "_" blocks.
func meta(schema *hcl.BodySchema) *hcl.BodySchema {
	out := &hcl.BodySchema{Attributes: schema.Attributes}
	for _, block := range schema.Blocks {
		if block.Type != "_" && block.Type != "locals" {
			out.Blocks = append(out.Blocks, block)
		}
	}
	return out
}

// Meta returns the schema of the meta-arguments and nested blocks that all resources of this mode
// support.
func (r *Resource) Meta() *hcl.BodySchema {
	switch r.Addr.Mode {
	case addrs.Data:
		return dataMeta
	case addrs.Ephemeral:
		return ephemeralMeta
	case addrs.Action:
		return nil
	}
	return managedMeta
}

// Meta returns the schema of the meta-arguments and nested blocks that all provisioners support.
func (p *Provisioner) Meta() *hcl.BodySchema { return provisionerMeta }

// Meta returns the schema of the meta-arguments that all providers support. It returns nil if p is
// nil.
func (p *Provider) Meta() *hcl.BodySchema {
	if p == nil {
		return nil
	}
	return providerMeta
}
