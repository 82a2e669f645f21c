package ui

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// viewLimit is the maximum time in which each view must show a hundred thousand changes.
const viewLimit = 5 * time.Second

// BenchmarkViews shows that the time per change doesn't depend on the number of changes. The
// plan has changes of all kinds in a hundred modules, and no two are equal.
func BenchmarkViews(b *testing.B) {
	text, err := os.ReadFile("testdata/view_schemas.json")
	if err != nil {
		b.Fatal(err)
	}
	schemas := lookup(loadSchemas(b, text))
	for _, name := range []string{"full", "brief", "tree", "table"} {
		for _, n := range []int{1000, 10_000, 100_000} {
			o := Options{Out: io.Discard, Terminal: true, Width: 80}
			if name != "full" {
				o.View = PlanTextView{Name: name}
			}
			b.Run(name+"/"+strconv.Itoa(n), func(b *testing.B) {
				view := largePlan(b, n, schemas)
				for b.Loop() {
					NewHuman(o).Plan(view)
				}
				took := b.Elapsed() / time.Duration(b.N)
				b.ReportMetric(float64(took.Nanoseconds())/float64(n), "ns/change")
				if n == 100_000 && took > viewLimit {
					b.Errorf("%s takes %s", name, took)
				}
			})
		}
	}
}

// largePlan returns a plan with n changes.
func largePlan(b *testing.B, n int, schemas Schemas) *PlanView {
	provider, err := addrs.ParseProvider("registry.opentofu.org/example/cloud")
	if err != nil {
		b.Fatal(err)
	}
	resource := addrs.Resource{Mode: addrs.Managed, Type: "cloud_server", Name: "web"}
	ty := schemas.Resource(provider, resource).Block.ImpliedType()
	object := func(i int, size int64, known bool) cty.Value {
		values := make(map[string]cty.Value)
		for name, t := range ty.AttributeTypes() {
			values[name] = cty.NullVal(t)
		}
		values["id"] = cty.StringVal(fmt.Sprintf("i-%d", i))
		if !known {
			values["id"] = cty.UnknownVal(cty.String)
		}
		values["name"] = cty.StringVal(fmt.Sprintf("server number %d", i))
		values["size"] = cty.NumberIntVal(size)
		values["tags"] = cty.MapVal(map[string]cty.Value{"serial": cty.StringVal(fmt.Sprint(i, size)),
			"team": cty.StringVal("core")})
		return cty.ObjectVal(values)
	}
	plan := &plans.Plan{Changes: &plans.Changes{}, Prior: states.New(), PrevRun: states.New()}
	for i := range n {
		module := addrs.RootInstance.Child("m", addrs.IntKey(i%100))
		c := &plans.InstanceChange{Addr: addrs.AbsResource{Module: module, Resource: resource}.Instance(addrs.IntKey(i))}
		c.Provider.Config.Provider = provider
		c.Before, c.After = object(i, 1, true), object(i, 2, true)
		switch i % 5 {
		case 0:
			c.Action, c.Before, c.After = plans.Create, cty.NullVal(ty), object(i, 2, false)
		case 1:
			c.Action, c.After, c.Reason = plans.Delete, cty.NullVal(ty), plans.DeleteCountIndex
		case 2:
			c.Action, c.After = plans.DeleteThenCreate, object(i, 2, false)
			c.RequiredReplace = []cty.Path{cty.GetAttrPath("size")}
		default:
			c.Action = plans.Update
		}
		plan.Changes.Instances = append(plan.Changes.Instances, c)
	}
	plan.Changes.Sort()
	cfg := &configs.Config{Module: &configs.Module{}}
	cfg.Root = cfg
	return &PlanView{Plan: plan, Config: cfg, Schemas: schemas}
}
