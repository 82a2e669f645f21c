package blocks_test

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs/blocks"
	"tofu/internal/tfdiags"
)

// example is the configuration of a backend with a required and an optional argument.
type example struct {
	Address string `cfg:"address,required" env:"EXAMPLE_ADDRESS"`
	Retries int    `cfg:"retries" default:"2"`
}

func (*example) Docs() blocks.Docs {
	return blocks.Docs{"address": "Address of the server.", "retries": "Number of retries."}
}

func Example() {
	schema := blocks.Schema(new(example))
	block, err := schema.CoerceValue(cty.ObjectVal(map[string]cty.Value{"address": cty.StringVal("a.example")}))
	if err != nil {
		fmt.Println(err)
		return
	}
	var c example
	err = blocks.Decode(block, &c, func(string) string { return "" }, tfdiags.Drop)
	fmt.Println(c.Address, c.Retries, err)
	// Output: a.example 2 <nil>
}
