package api_test

import (
	"context"
	"fmt"

	"tofu/api"
)

// A program plans and applies a configuration that it holds in memory, and keeps the state itself.
func Example() {
	ctx := context.Background()
	var state []byte
	c, err := api.Load(ctx, api.Source{
		Files: map[string][]byte{
			"main.tf": []byte(`
				variable "names" { type = list(string) }
				module "greeting" {
					source   = "./greeting"
					for_each = toset(var.names)
					name     = each.key
				}`),
			"greeting/main.tf": []byte(`
				variable "name" {}
				resource "terraform_data" "hello" { input = "Hello, ${var.name}" }`),
		},
		Variables:  map[string]string{"names": `["Ada", "Grace"]`},
		ReadState:  func(context.Context) ([]byte, error) { return state, nil },
		WriteState: func(_ context.Context, snapshot []byte) error { state = snapshot; return nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		plan, err := c.Plan(ctx, api.PlanOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(plan.Changes())
		if _, err := plan.Apply(ctx); err != nil {
			fmt.Println(err)
		}
		plan.Close()
	}
	// Output:
	// [{module.greeting["Ada"].terraform_data.hello create} {module.greeting["Grace"].terraform_data.hello create}]
	// []
}
