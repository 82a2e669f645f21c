package configs

import "github.com/hashicorp/hcl/v2"

var outputBlocks = []hcl.BlockHeaderSchema{{Type: "precondition"}, {Type: "postcondition"}}

func outputSchema(valueRequired bool) *hcl.BodySchema {
	return &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{
			{Name: "value", Required: valueRequired}, {Name: "description"}, {Name: "depends_on"}, {Name: "sensitive"},
			{Name: "deprecated"}, {Name: "ephemeral"},
		},
		Blocks: outputBlocks,
	}
}

// outputSchemas holds the schema of output blocks, by whether the file is an override file.
var outputSchemas = map[bool]*hcl.BodySchema{false: outputSchema(true), true: outputSchema(false)}

func decodeOutput(d *decoder, block *hcl.Block) {
	o := &Output{Name: block.Labels[0], Range: block.DefRange}
	content := d.content(block.Body, outputSchemas[d.override])
	d.identifier(o.Name, block.LabelRanges[0], "output name")
	attrs := content.Attributes
	if attr, ok := attrs["value"]; ok {
		o.Expr = attr.Expr
	}
	if attr, ok := attrs["description"]; ok {
		decodeOpt(d, attr, &o.Description)
	}
	if attr, ok := attrs["sensitive"]; ok {
		decodeOpt(d, attr, &o.Sensitive)
	}
	if attr, ok := attrs["ephemeral"]; ok {
		decodeOpt(d, attr, &o.Ephemeral)
	}
	if attr, ok := attrs["deprecated"]; ok {
		o.Deprecated = d.deprecated(attr, attr.Expr.Range(), "Invalid `deprecated` attribute", "output value")
	}
	if attr, ok := attrs["depends_on"]; ok {
		o.DependsOn = d.traversals(attr)
	}
	for _, inner := range content.Blocks {
		switch {
		case inner.Type == "postcondition":
			d.errorf(inner.TypeRange, "Postconditions are not allowed",
				"Output values support only preconditions. Use a precondition instead.")
		case d.override:
			d.errorf(inner.DefRange, "Can't override precondition blocks",
				"Override files cannot override \"precondition\" blocks.")
		default:
			if rule, ok := d.checkRule(inner); ok {
				o.Preconditions = append(o.Preconditions, rule)
			}
		}
	}
	d.file.outputs = append(d.file.outputs, o)
}
