package configs

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// What the blocks of an encryption block hold. Of key providers and methods only their kinds know.
var (
	encryptionSchema = &hcl.BodySchema{
		Blocks: []hcl.BlockHeaderSchema{
			{Type: "key_provider", LabelNames: []string{"type", "name"}},
			{Type: "method", LabelNames: []string{"type", "name"}},
			{Type: "state"},
			{Type: "plan"},
			{Type: "remote_state_data_sources"},
		},
	}
	encryptionTargetSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "method"}, {Name: "enforced"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "fallback"}},
	}
	encryptionRemoteSchema = &hcl.BodySchema{
		Blocks: []hcl.BlockHeaderSchema{{Type: "default"}, {Type: "remote_state_data_source", LabelNames: []string{"name"}}},
	}
)

// encryption takes an encryption block. That it is well formed is checked here, so that validating finds it; what its expressions say is
// looked at where it is used.
func (d *decoder) encryption(block *hcl.Block) {
	before := len(d.diags)
	content := d.content(block.Body, encryptionSchema)
	first := map[string]*hcl.Block{}
	for _, inner := range content.Blocks {
		key := strings.Join(append([]string{inner.Type}, inner.Labels...), ".")
		if other := first[key]; other != nil {
			d.errorf(inner.DefRange, "Duplicate "+inner.Type+" block", "The encryption block has %s at %s already.", key, place(other.DefRange))
			continue
		}
		first[key] = inner
		switch inner.Type {
		case "state", "plan":
			d.encryptionTarget(inner)
		case "remote_state_data_sources":
			for _, remote := range d.content(inner.Body, encryptionRemoteSchema).Blocks {
				d.encryptionTarget(remote)
			}
		}
	}
	if !d.diags[before:].HasErrors() { // a broken one is not one too many as well
		d.file.encryption = append(d.file.encryption, block)
	}
}

func (d *decoder) encryptionTarget(block *hcl.Block) {
	for _, fallback := range d.content(block.Body, encryptionTargetSchema).Blocks {
		d.encryptionTarget(fallback)
	}
}
