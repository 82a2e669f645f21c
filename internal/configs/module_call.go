package configs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

func moduleSchema(sourceRequired bool) *hcl.BodySchema {
	return &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{
			{Name: "source", Required: sourceRequired}, {Name: "version"}, {Name: "count"}, {Name: "for_each"},
			{Name: "depends_on"}, {Name: "providers"},
		},
		Blocks: []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "lifecycle"}, {Type: "locals"},
			{Type: "provider", LabelNames: []string{"type"}}},
	}
}

var (
	moduleSchemas = map[bool]*hcl.BodySchema{false: moduleSchema(true),
		true: moduleSchema(false)} // schemas by whether the file is an override file
	moduleLifecycleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "enabled"}}}
)

func decodeModuleCall(d *decoder, block *hcl.Block) {
	content, rest := d.partial(block.Body, moduleSchemas[d.override])
	c := &ModuleCall{Name: block.Labels[0], Config: rest, Range: block.DefRange}
	d.identifier(c.Name, block.LabelRanges[0], "module instance name")
	attrs := content.Attributes
	if attr, ok := attrs["source"]; ok {
		c.SourceExpr, c.SourceRange = attr.Expr, attr.Expr.Range()
	}
	if attr, ok := attrs["version"]; ok {
		c.VersionExpr = attr.Expr
	}
	var repetition []*hcl.Attribute
	if attr, ok := attrs["count"]; ok {
		c.Count = attr.Expr
		repetition = append(repetition, attr)
	}
	if attr, ok := attrs["for_each"]; ok {
		c.ForEach = attr.Expr
		repetition = append(repetition, attr)
	}
	if attr, ok := attrs["depends_on"]; ok {
		c.DependsOn, c.lateDependsOn = d.dependsOn(attr)
	}
	if attr, ok := attrs["providers"]; ok {
		c.Providers = Opt[[]PassedProvider]{Value: d.passedProviders(attr), Set: true}
	}
	var escaped, lifecycle once
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "_":
			c.Config = d.escape(c.Config, &escaped, inner, "module")
		case "lifecycle":
			if !lifecycle.accept(d, inner, "Duplicate lifecycle block", "This module call") {
				continue
			}
			if attr, ok := d.content(inner.Body, moduleLifecycleSchema).Attributes["enabled"]; ok {
				c.Enabled = attr.Expr
				repetition = append(repetition, attr)
			}
		default:
			d.reserved(inner, "module")
		}
	}
	// The arguments are not checked here. CheckArguments compares them with the variables of the
	// called module.
	d.oneRepetition(repetition, "module instances")
	d.file.calls = append(d.file.calls, c)
}

// oneRepetition reports an error if more than one of count, for_each and enabled is set.
func (d *decoder) oneRepetition(attrs []*hcl.Attribute, what string) {
	if len(attrs) < 2 {
		return
	}
	attrs = slices.Clone(attrs)
	slices.SortFunc(attrs,
		func(a, b *hcl.Attribute) int { return cmp.Compare(a.NameRange.Start.Byte, b.NameRange.Start.Byte) })
	var names []string
	for _, attr := range attrs {
		names = append(names, `"`+attr.Name+`"`)
	}
	list := strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	d.errorf(hcl.RangeBetween(attrs[0].NameRange, attrs[len(attrs)-1].NameRange), "Invalid combination of "+list,
		"The arguments %s are mutually exclusive. Only one of them can set the number of %s.", list, what)
}

// passedProviders decodes the providers argument, which maps provider configurations of the called
// module to provider configurations of this module.
func (d *decoder) passedProviders(attr *hcl.Attribute) []PassedProvider {
	pairs, diags := hcl.ExprMap(attr.Expr)
	d.addHCL(diags)
	var out []PassedProvider
	first := map[addrs.LocalProviderConfig]hcl.Range{}
	for _, pair := range pairs {
		in := d.providerRef(pair.Key, "providers")
		from := d.providerRef(pair.Value, "providers")
		if in == nil || from == nil {
			continue
		}
		d.expectNoKey(in) // the configuration in the called module has no instances
		rng := hcl.RangeBetween(pair.Key.Range(), pair.Value.Range())
		if before, dup := first[in.Local()]; dup {
			d.errorf(pair.Value.Range(), "Duplicate provider address",
				"A provider configuration is already passed for %s at %s. Remove one of them.",
				in.Local(), tfdiags.Place(before))
			continue
		}
		first[in.Local()] = rng
		out = append(out, PassedProvider{InChild: in, InParent: from})
	}
	return out
}
