package configs

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/configschema"
	"tofu/internal/tfdiags"
)

// CheckArguments compares the arguments of every module call with the variables of the called
// module. Loading doesn't do this, because some commands never evaluate module calls and accept a
// tree in which the two disagree.
func (c *Config) CheckArguments() error {
	var errs tfdiags.Diagnostics
	for cfg := range c.AllModules() {
		for _, name := range slices.Sorted(maps.Keys(cfg.Children)) {
			errs = errs.AppendError(cfg.Children[name].checkArguments())
		}
	}
	return errs.Err()
}

func (c *Config) checkArguments() error {
	_, diags := c.Call.Config.Content(c.Module.arguments)
	if diags.HasErrors() {
		_, suggested := configschema.SuggestionBody(c.Call.Config, moduleMeta).Content(c.Module.arguments)
		if len(suggested) == len(diags) {
			diags = suggested
		}
	}
	return tfdiags.FromHCL(diags).Err()
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
