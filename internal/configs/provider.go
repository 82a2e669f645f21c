package configs

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

var providerSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "version"}, {Name: "alias"}, {Name: "for_each"}, {Name: "count"}, {Name: "depends_on"}, {Name: "source"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "lifecycle"}, {Type: "locals"}},
}

func decodeProvider(d *decoder, block *hcl.Block) {
	content, rest := d.partial(block.Body, providerSchema)
	p := &Provider{Name: block.Labels[0], Config: rest, NameRange: block.LabelRanges[0], Range: block.DefRange}
	if !d.providerName(p.Name, block.DefRange) {
		return
	}
	if attr, ok := content.Attributes["alias"]; ok {
		d.constant(attr, &p.Alias)
		rng := attr.Expr.Range()
		p.AliasRange = &rng
		if !hclsyntax.ValidIdentifier(p.Alias) {
			// As in OpenTofu, the diagnostic has no source range, because other programs may rely
			// on this. The message contains the position instead.
			d.addError(tfdiags.Errorf("Invalid provider configuration alias",
				"The alias at %s is not a valid name. %s", tfdiags.Place(rng), identifierRule))
		}
	}
	if attr, ok := content.Attributes["version"]; ok {
		d.providerVersion(p, attr)
	}
	if attr, ok := content.Attributes["for_each"]; ok {
		p.ForEach = attr.Expr
		if p.Alias == "" {
			d.errorf(attr.Expr.Range(), "Alias required when using \"for_each\"",
				"A provider block with for_each has several instances, and references to them require an "+
					"alias.")
		}
	}
	for _, name := range []string{"count", "depends_on", "source"} {
		if attr, ok := content.Attributes[name]; ok {
			d.errorf(attr.NameRange, "Reserved argument name in provider block",
				"The provider argument name %q is reserved for a future version of the language.", name)
		}
	}
	var escaped once
	for _, inner := range content.Blocks {
		if inner.Type == "_" {
			p.Config = d.escape(p.Config, &escaped, inner, "provider")
		} else {
			d.reserved(inner, "provider")
		}
	}
	d.file.providers = append(d.file.providers, p)
}

// providerName checks the local name of a provider.
func (d *decoder) providerName(name string, at hcl.Range) bool {
	normal, err := addrs.ParseProviderPart(name)
	switch {
	case err != nil:
		d.errorf(at, "Invalid provider local name",
			"%q is not a valid provider local name. Only letters, digits and single dashes between them are "+
				"allowed.", name)
	case normal != name:
		d.errorf(at, "Invalid provider local name",
			"The names of providers must be normalized, for example to lower case. Use %q instead of %q.", normal, name)
	default:
		return true
	}
	return false
}

// providerVersion decodes the deprecated version argument.
func (d *decoder) providerVersion(p *Provider, attr *hcl.Attribute) {
	d.warnf(attr.Expr.Range(), "Version constraints inside provider configuration blocks are deprecated",
		"Move the version constraint to the required_providers block of the terraform block.")
	var text *string
	if !d.constant(attr, &text) || text == nil {
		return
	}
	p.VersionText = *text
	spec, err := ParseConstraints(p.VersionText)
	if err != nil {
		d.errorf(attr.Expr.Range(), "Invalid version constraint", badConstraint, p.VersionText, err)
	}
	p.constraints, p.versionRange = spec, attr.Expr.Range()
}

// Local returns the name of the configuration within its module.
func (p *Provider) Local() addrs.LocalProviderConfig {
	return addrs.LocalProviderConfig{LocalName: p.Name, Alias: p.Alias}
}
