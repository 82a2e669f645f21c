package configs

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/tfdiags"
)

// Schemas of the encryption block and its nested blocks. The content of key_provider and method
// blocks depends on their type.
var (
	EncryptionSchema = &hcl.BodySchema{
		Blocks: []hcl.BlockHeaderSchema{
			{Type: "key_provider", LabelNames: []string{"type", "name"}},
			{Type: "method", LabelNames: []string{"type", "name"}},
			{Type: "state"},
			{Type: "plan"},
			{Type: "remote_state_data_sources"},
		},
	}
	EncryptionTargetSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "method"}, {Name: "enforced"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "fallback"}},
	}
	EncryptionRemoteSchema = &hcl.BodySchema{
		Blocks: []hcl.BlockHeaderSchema{{Type: "default"},
			{Type: "remote_state_data_source", LabelNames: []string{"name"}}},
	}
)

// encryption decodes an encryption block. It checks only the structure of the block, so that the
// validate command reports errors in it. The expressions are evaluated when they are needed.
func (d *decoder) encryption(block *hcl.Block) {
	if err := CheckEncryption(block.Body); err != nil { // an invalid block does not count as a duplicate
		d.addError(err)
		return
	}
	d.file.encryption = append(d.file.encryption, block)
}

// CheckEncryption reports errors in the structure of an encryption block's body.
func CheckEncryption(body hcl.Body) error {
	var d decoder
	content := d.content(body, EncryptionSchema)
	first := map[string]*hcl.Block{}
	for _, inner := range content.Blocks {
		key := strings.Join(append([]string{inner.Type}, inner.Labels...), ".")
		if other := first[key]; other != nil {
			d.errorf(inner.DefRange, "Duplicate "+inner.Type+" block",
				"The encryption block already has the block %q at %s.", key, tfdiags.Place(other.DefRange))
			continue
		}
		first[key] = inner
		switch inner.Type {
		case "state", "plan":
			d.encryptionTarget(inner)
		case "remote_state_data_sources":
			for _, remote := range d.content(inner.Body, EncryptionRemoteSchema).Blocks {
				d.encryptionTarget(remote)
			}
		}
	}
	return d.errs.Err()
}

func (d *decoder) encryptionTarget(block *hcl.Block) {
	content := d.content(block.Body, EncryptionTargetSchema)
	if attr := content.Attributes["enforced"]; attr != nil && len(attr.Expr.Variables()) == 0 {
		var enforced bool
		d.constant(attr, &enforced)
	}
	for i, fallback := range content.Blocks {
		if i > 0 {
			d.errorf(fallback.DefRange, "Duplicate fallback block",
				"Only one fallback is allowed here. The fallback itself can have another one.")
			break
		}
		d.encryptionTarget(fallback)
	}
}
