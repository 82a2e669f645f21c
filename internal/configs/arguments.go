package configs

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/configs/configschema"
	"tofu/internal/tfdiags"
)

// CheckArguments compares the arguments of every module call with the variables of the called module. It is apart from loading
// because commands that never evaluate calls accept a tree in which they don't agree.
func (c *Config) CheckArguments() tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	for cfg := range c.AllModules() {
		for _, name := range slices.Sorted(maps.Keys(cfg.Children)) {
			diags = append(diags, cfg.Children[name].checkArguments()...)
		}
	}
	return diags
}

func (c *Config) checkArguments() tfdiags.Diagnostics {
	_, hclDiags := c.Call.Config.Content(c.Module.arguments)
	if hclDiags.HasErrors() {
		if _, offered := configschema.Offered(c.Call.Config, moduleMeta).Content(c.Module.arguments); len(offered) == len(hclDiags) {
			hclDiags = offered
		}
	}
	return tfdiags.FromHCL(hclDiags)
}

// argumentSchema is what a call of the module may hold besides meta-arguments: one argument per variable.
func (m *Module) argumentSchema() *hcl.BodySchema {
	schema := &hcl.BodySchema{}
	for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: name, Required: m.Variables[name].Required()})
	}
	return schema
}
