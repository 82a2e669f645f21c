package configs

import (
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/tfdiags"
)

var checkSchema = &hcl.BodySchema{
	Blocks: []hcl.BlockHeaderSchema{{Type: "data", LabelNames: []string{"type", "name"}}, {Type: "assert"}},
}

// decodeCheck decodes a check block: its assertions and the optional scoped data source.
func decodeCheck(d *decoder, block *hcl.Block) {
	c := &Check{Name: block.Labels[0], Range: block.DefRange}
	if d.override {
		d.errorf(block.DefRange, "Can't override check blocks",
			"Check blocks are not allowed in override files, which can't change them. Move this block to another "+
				"file of the module, or edit the original block.")
		return
	}
	d.identifier(c.Name, block.LabelRanges[0], "check block name")
	content := d.content(block.Body, checkSchema)
	asserts := content.Blocks.OfType("assert")
	for _, inner := range content.Blocks {
		if inner.Type == "assert" {
			if rule, ok := d.checkRule(inner); ok {
				c.Asserts = append(c.Asserts, rule)
			}
			continue
		}
		if c.Data != nil {
			d.errorf(inner.DefRange, "Multiple data resource blocks",
				"The check block already has a data resource at %s. Only one is allowed.", tfdiags.Place(c.Data.Range))
			continue
		}
		// If the data block is invalid, don't keep it, so that a second data block is not reported
		// as a duplicate.
		before := len(d.errs)
		if data := d.resource(dataKind, inner, c); len(d.errs) == before {
			c.Data = data
		}
	}
	if len(asserts) == 0 { // invalid ones have errors of their own
		d.errorf(c.Range, "Zero assert blocks", "A check block requires at least one assert block.")
	}
	d.file.checks = append(d.file.checks, c)
}
