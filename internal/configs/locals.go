package configs

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

func decodeLocals(d *decoder, block *hcl.Block) {
	attrs, diags := block.Body.JustAttributes()
	d.addHCL(diags)
	for _, attr := range sortedAttributes(attrs) {
		d.identifier(attr.Name, attr.NameRange, "local value name")
		d.file.locals = append(d.file.locals, &Local{Name: attr.Name, Expr: attr.Expr, Range: attr.Range})
	}
}

// sortedAttributes returns the attributes in source order.
func sortedAttributes(attrs hcl.Attributes) []*hcl.Attribute {
	out := make([]*hcl.Attribute, 0, len(attrs))
	for _, attr := range attrs {
		out = append(out, attr)
	}
	slices.SortFunc(out,
		func(a, b *hcl.Attribute) int { return cmp.Compare(a.NameRange.Start.Byte, b.NameRange.Start.Byte) })
	return out
}
