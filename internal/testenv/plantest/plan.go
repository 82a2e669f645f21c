// Package plantest makes plans of any size for tests and benchmarks of documents about plans.
// It needs no provider plugins and no files.
package plantest

import (
	"context"
	"fmt"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/builtin"
	"tofu/internal/configs"
	"tofu/internal/graphview"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/ui"
)

// Resources is the number of resource blocks in each module of a plan.
const Resources = 20

// modules is the number of modules in a plan.
const modules = 50

// Plan returns a plan with n changes of all kinds, and the graph of the plan. Each value
// contains text, which may be hostile.
func Plan(t testing.TB, n int, text string) (*ui.PlanView, *graphview.Graph) {
	t.Helper()
	schema, diags := builtin.New(builtin.Options{}).Schema(context.Background())
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	plan := &plans.Plan{Changes: &plans.Changes{}, Prior: states.New(), PrevRun: states.New(), Applyable: true}
	graph := &graphview.Graph{}
	for i := range modules * Resources {
		path := addrs.Module(fmt.Sprintf("m%d", i/Resources))
		r := addrs.Resource{Mode: addrs.Managed, Type: "terraform_data", Name: fmt.Sprintf("r%d", i%Resources)}
		graph.Nodes = append(graph.Nodes, graphview.Node{Kind: graphview.Resource, Module: path, Type: r.Type,
			Address: r.In(path).String(), At: &hcl.Range{Filename: "m/main.tf", Start: hcl.Pos{Line: 1 + i%Resources}}})
		if i%Resources > 0 {
			graph.Edges = append(graph.Edges, graphview.Edge{From: i, To: i - 1})
		}
	}
	for i := range n {
		node := &graph.Nodes[i%len(graph.Nodes)]
		r := addrs.Resource{Mode: addrs.Managed, Type: "terraform_data", Name: fmt.Sprintf("r%d", i%Resources)}
		c := change(i, r.InInstance(node.Module.UnkeyedInstance()).Instance(addrs.IntKey(i/len(graph.Nodes))), text)
		node.Changes = append(node.Changes, c)
		plan.Changes.Instances = append(plan.Changes.Instances, c)
	}
	plan.Changes.Sort()
	cfg := &configs.Config{Module: &configs.Module{}}
	cfg.Root = cfg
	schemas := func(addrs.Provider) *providers.Schema { return schema }
	return &ui.PlanView{Plan: plan, Config: cfg, Schemas: schemas}, graph
}

// change returns the change of an object. Its kind depends on i.
func change(i int, addr addrs.AbsInstance, text string) *plans.InstanceChange {
	object := func(input string, id cty.Value) cty.Value {
		value := cty.StringVal(fmt.Sprintf("%s %d %s", input, i, text))
		return cty.ObjectVal(map[string]cty.Value{"id": id, "input": value, "output": value,
			"triggers_replace": value})
	}
	id := cty.StringVal(fmt.Sprintf("id-%d", i))
	c := &plans.InstanceChange{Addr: addr, Before: object("old", id), After: object("new", id)}
	c.Provider.Config.Provider = addrs.BuiltinTerraform
	switch i % 5 {
	case 0:
		c.Action, c.Before = plans.Create, cty.NullVal(c.After.Type())
		c.After = object("new", cty.UnknownVal(cty.String))
	case 1:
		c.Action, c.After, c.Reason = plans.Delete, cty.NullVal(c.Before.Type()), plans.DeleteCountIndex
	case 2:
		c.Action, c.After = plans.DeleteThenCreate, object("new", cty.UnknownVal(cty.String))
		c.RequiredReplace, c.Reason = []cty.Path{cty.GetAttrPath("triggers_replace")}, plans.ReplaceCannotUpdate
	default:
		c.Action = plans.Update
	}
	return c
}
