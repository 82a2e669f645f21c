package configs

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
)

// What blocks may hold beside what the schemas of providers, provisioners and called modules say, to be offered to who misspells it.
var (
	managedMeta     = meta(managedKind.schema)
	dataMeta        = meta(dataKind.schema)
	ephemeralMeta   = &hcl.BodySchema{Attributes: commonAttributes, Blocks: dataMeta.Blocks}
	providerMeta    = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "alias"}, {Name: "for_each"}}}
	provisionerMeta = &hcl.BodySchema{Attributes: provisionerSchema.Attributes, Blocks: []hcl.BlockHeaderSchema{{Type: "connection"}}}
	moduleMeta      = &hcl.BodySchema{Attributes: moduleSchemas[false].Attributes, Blocks: []hcl.BlockHeaderSchema{{Type: "lifecycle"}}}
)

// meta leaves out of a schema what has no meaning of its own.
func meta(schema *hcl.BodySchema) *hcl.BodySchema {
	out := &hcl.BodySchema{Attributes: schema.Attributes}
	for _, block := range schema.Blocks {
		if block.Type != "_" && block.Type != "locals" {
			out.Blocks = append(out.Blocks, block)
		}
	}
	return out
}

// Meta is what the block may hold beside what the resource type's schema says.
func (r *Resource) Meta() *hcl.BodySchema {
	switch r.Addr.Mode {
	case addrs.Data:
		return dataMeta
	case addrs.Ephemeral:
		return ephemeralMeta
	}
	return managedMeta
}

// Meta is what the block may hold beside what the provisioner's schema says.
func (p *Provisioner) Meta() *hcl.BodySchema { return provisionerMeta }

// Meta is what the block may hold beside what the provider's schema says; nil for a configuration that is not written down.
func (p *Provider) Meta() *hcl.BodySchema {
	if p == nil {
		return nil
	}
	return providerMeta
}
