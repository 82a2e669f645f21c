package configs

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"

	"tofu/internal/lang/funcs"
)

var outputBlocks = []hcl.BlockHeaderSchema{{Type: "precondition"}, {Type: "postcondition"}}

func outputSchema(valueRequired bool) *hcl.BodySchema {
	return &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{
			{Name: "value", Required: valueRequired}, {Name: "type"}, {Name: "description"}, {Name: "depends_on"}, {Name: "sensitive"},
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
		if json.IsJSONExpression(o.Expr) && attrs["type"] != nil {
			o.Expr = d.nativeTemplate(o.Expr, "the value")
		}
	}
	if attr, ok := attrs["type"]; ok {
		d.typeConstraint(attr.Expr)
		o.typeExpr = d.nativeExpr(attr.Expr)
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
		o.DependsOn, o.lateDependsOn = d.dependsOn(attr)
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

// typed returns an output whose value is converted to its type. An output without a type is returned as it is.
func (o *Output) typed() *Output {
	value, native := o.Expr.(hclsyntax.Expression)
	typ, _ := o.typeExpr.(hclsyntax.Expression)
	if !native || typ == nil {
		return o
	}
	out := *o
	out.Expr = funcs.Converted(value, typ)
	return &out
}
