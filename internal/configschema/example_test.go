package configschema_test

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

func Example() {
	schema := &configschema.Block{
		Attributes: map[string]*configschema.Attribute{
			"name": {Type: cty.String, Required: true},
			"id":   {Type: cty.String, Computed: true},
		},
		BlockTypes: map[string]*configschema.NestedBlock{
			"rule": {Nesting: configschema.NestingList, Block: configschema.Block{
				Attributes: map[string]*configschema.Attribute{"port": {Type: cty.Number, Optional: true}},
			}},
		},
	}
	file, _ := hclsyntax.ParseConfig([]byte("name = \"a\"\nrule {\n  port = 80\n}\n"), "main.tf", hcl.InitialPos)
	v, diags := schema.Decode(file.Body, nil)
	fmt.Printf("%#v\n%v\n", v.GetAttr("rule").Index(cty.Zero).GetAttr("port"), diags.HasErrors())
	// Output:
	// cty.NumberIntVal(80)
	// false
}
