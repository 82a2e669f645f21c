package configs

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/configs/configschema"
	"tofu/internal/tfdiags"
)

// CheckArguments compares the arguments of every module call with the variables of the called
// module. Loading does not do this because some commands never evaluate module calls and accept a
// tree in which the two disagree.
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
		_, suggested := configschema.SuggestionBody(c.Call.Config, moduleMeta).Content(c.Module.arguments)
		if len(suggested) == len(hclDiags) {
			hclDiags = suggested
		}
	}
	return tfdiags.FromHCL(hclDiags)
}

// argumentSchema returns the schema of the module's arguments in a module call: one argument per
// variable, without meta-arguments.
func (m *Module) argumentSchema() *hcl.BodySchema {
	schema := &hcl.BodySchema{}
	for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
		schema.Attributes = append(schema.Attributes,
			hcl.AttributeSchema{Name: name, Required: m.Variables[name].Required()})
	}
	return schema
}
