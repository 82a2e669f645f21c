package enginetest

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/providers"
)

func text(change func(*configschema.Attribute)) *configschema.Attribute {
	a := &configschema.Attribute{Type: cty.String, Optional: true}
	if change != nil {
		change(a)
	}
	return a
}

var (
	required = &configschema.Attribute{Type: cty.String, Required: true}
	computed = &configschema.Attribute{Type: cty.String, Computed: true}
)

var thing = &configschema.Block{
	Attributes: map[string]*configschema.Attribute{
		"name": required,
		"id":   computed,
		"c":    computed,
		"v":    text(nil),
		"f":    text(nil),
		"s":    text(func(a *configschema.Attribute) { a.Sensitive = true }),
		"w":    text(func(a *configschema.Attribute) { a.WriteOnly = true }),
		"old":  text(func(a *configschema.Attribute) { a.Deprecated, a.DeprecationMessage = true, "Use v." }),
		"gone": text(func(a *configschema.Attribute) { a.Deprecated = true }),
		"tags": {Type: cty.Map(cty.String), Optional: true},
		"wait": {Type: cty.Number, Optional: true},
	},
	BlockTypes: map[string]*configschema.NestedBlock{
		"rule": {Nesting: configschema.NestingList,
			Block: configschema.Block{Attributes: map[string]*configschema.Attribute{
				"port": {Type: cty.Number, Optional: true},
			}}},
	},
}

var reading = &configschema.Block{Attributes: map[string]*configschema.Attribute{
	"name": required, "v": computed, "id": computed, "secret": {Type: cty.String, Computed: true, Sensitive: true},
}}

var finding = &configschema.Block{Attributes: map[string]*configschema.Attribute{"name": required, "text": computed}}

var token = &configschema.Block{Ephemeral: true, Attributes: map[string]*configschema.Attribute{
	"name": required, "value": computed, "renew": text(nil),
}}

var acting = &configschema.Block{Attributes: map[string]*configschema.Attribute{
	"name": required, "text": text(nil), "s": text(func(a *configschema.Attribute) { a.Sensitive = true }),
}}

var config = &configschema.Block{Attributes: map[string]*configschema.Attribute{
	"label": text(nil), "host": text(nil),
}}

var identity = &configschema.Object{Nesting: configschema.NestingSingle,
	Attributes: map[string]*configschema.Attribute{"key": required}}

var functions = map[string]*providers.Function{
	"echo":  {Params: []providers.FunctionParam{{Name: "text", Type: cty.String}}, Return: cty.String},
	"count": {Params: []providers.FunctionParam{{Name: "list", Type: cty.DynamicPseudoType, AllowNull: true}}, Return: cty.Number},
	"merge": {Variadic: &providers.FunctionParam{Name: "maps", Type: cty.Map(cty.String)}, Return: cty.Map(cty.String)},
}

// schemas returns the schemas of a provider. version is the version of its resource types and
// identities.
func schemas(typ string, version int64) *providers.Schema {
	return &providers.Schema{
		Provider: config,
		Resources: providers.Types{
			typ + "_thing": {Block: thing, Version: version},
			typ + "_unit":  {Block: thing, Version: version, Identity: identity, IdentityVersion: version},
		},
		DataSources: providers.Types{typ + "_read": {Block: reading}, typ + "_find": {Block: finding}},
		Ephemerals:  providers.Types{typ + "_token": {Block: token}},
		Actions:     providers.Types{typ + "_act": {Block: acting}},
		Functions:   functions, MoveResource: true,
	}
}
