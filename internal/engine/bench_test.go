package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/addrs"
	"tofu/internal/builtin"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
)

// shapes are configurations of n resources. They differ in how the resources refer to each other.
var shapes = []struct {
	name  string
	files func(n int) map[string]string
}{
	{"wide", func(n int) map[string]string {
		return blocks(n, func(i int) string { return fmt.Sprintf("\"value-%d\"", i) })
	}},
	{"layers", func(n int) map[string]string { return blocks(n, layered) }},
	{"chain", func(n int) map[string]string {
		return blocks(n, func(i int) string {
			if i == 0 {
				return `"start"`
			}
			return reference(i - 1)
		})
	}},
	{"count", func(n int) map[string]string {
		return map[string]string{"main.tf": fmt.Sprintf("%s%s",
			block("a", fmt.Sprintf("  count = %d\n", n/2), `"value-${count.index}"`),
			block("b", fmt.Sprintf("  count = %d\n", n/2), "terraform_data.a[count.index].output"))}
	}},
	{"foreach", func(n int) map[string]string {
		return map[string]string{"main.tf": fmt.Sprintf("locals {\n  keys = toset(flatten([for i in range(%d) "+
			": [for j in range(50) : \"k${i}-${j}\"]]))\n}\n%s%s", n/100,
			block("a", "  for_each = local.keys\n", "each.key"),
			block("b", "  for_each = terraform_data.a\n", "each.value.output"))}
	}},
	{"modules", func(n int) map[string]string {
		var main strings.Builder
		for i := range n / 20 {
			fmt.Fprintf(&main, "module \"m%d\" {\n  source = \"./mod\"\n  name = \"m%d\"\n}\n", i, i)
		}
		inner := blocks(20, func(i int) string {
			if i == 0 {
				return "var.name"
			}
			return reference((i - 1) / 2)
		})["main.tf"]
		return map[string]string{"main.tf": main.String(),
			"mod/main.tf": inner + "variable \"name\" {\n  type = string\n}\noutput \"last\" {\n  value = " +
				reference(19) + "\n}\n"}
	}},
}

func block(name, repeat, input string) string {
	return fmt.Sprintf("resource \"terraform_data\" %q {\n%s  input = %s\n}\n", name, repeat, input)
}

func reference(i int) string { return fmt.Sprintf("terraform_data.r%d.output", i) }

func blocks(n int, input func(int) string) map[string]string {
	var b strings.Builder
	for i := range n {
		b.WriteString(block(fmt.Sprintf("r%d", i), "", input(i)))
	}
	return map[string]string{"main.tf": b.String()}
}

// layered returns an expression that refers to three resources in the previous layer. Each layer
// has a hundred resources.
func layered(i int) string {
	if i < 100 {
		return fmt.Sprintf("\"value-%d\"", i)
	}
	base := (i/100 - 1) * 100
	return fmt.Sprintf(`"${substr(%s, 0, 8)}-${substr(%s, 0, 8)}-${substr(%s, 0, 8)}"`,
		reference(base+i%100), reference(base+i*7%100), reference(base+i*31%100))
}

// scene is a loaded configuration with its environment.
type scene struct {
	cfg *configs.Config
	env *engine.Env
}

func load(b testing.TB, files map[string]string) scene {
	b.Helper()
	dir := b.TempDir()
	for name, text := range files {
		testenv.WriteFile(b, filepath.Join(dir, name), text)
	}
	cfg, err := configs.LoadRoot(b.Context(), dir,
		&configs.LoadOptions{Resolve: func(_ context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
			return configs.ResolvedModule{Dir: req.LocalDir()}, nil
		}}, tfdiags.Drop)
	check(b, err)
	provider := builtin.New(builtin.Options{})
	return scene{cfg, &engine.Env{
		Provider: func(context.Context, addrs.Provider) (providers.Interface, error) { return provider, nil },
		Schema: func(ctx context.Context, _ addrs.Provider) (*providers.Schema, tfdiags.Diagnostics) {
			return provider.Schema(ctx)
		},
		Workspace: "default",
	}}
}

func check(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (s scene) plan(b testing.TB, prior *states.State, opts *engine.PlanOptions) *plans.Plan {
	plan, err := engine.Plan(context.Background(), s.cfg, prior, s.env, opts)
	check(b, err)
	return plan
}

func (s scene) apply(b *testing.B, plan *plans.Plan) *states.State {
	state, err := engine.Apply(context.Background(), s.cfg, plan, s.env, nil)
	check(b, err)
	return state
}

// each runs a benchmark for every shape in two sizes. The larger size must not take more than ten
// times as long as the smaller one.
func each(b *testing.B, run func(b *testing.B, s scene)) {
	for _, shape := range shapes {
		for _, size := range []struct {
			name string
			n    int
		}{{"1k", 1000}, {"10k", 10_000}} {
			b.Run(shape.name+"/"+size.name, func(b *testing.B) {
				s := load(b, shape.files(size.n))
				b.ReportAllocs()
				run(b, s)
			})
		}
	}
}

// BenchmarkBuild builds the graphs for planning to create everything and for applying that plan.
func BenchmarkBuild(b *testing.B) {
	each(b, func(b *testing.B, s scene) {
		plan := s.plan(b, nil, nil)
		for b.Loop() {
			for _, op := range []*graph.Operation{
				engine.GraphOperation(s.cfg, plan.PrevRun, s.env, engine.GraphPlan, nil),
				engine.GraphOperation(s.cfg, plan.Prior, s.env, engine.GraphApply, plan),
			} {
				_, err := graph.Build(context.Background(), op)
				check(b, err)
			}
		}
	})
}

// BenchmarkPlan plans to create everything.
func BenchmarkPlan(b *testing.B) {
	each(b, func(b *testing.B, s scene) {
		for b.Loop() {
			s.plan(b, nil, nil)
		}
	})
}

// BenchmarkApply creates everything.
func BenchmarkApply(b *testing.B) {
	each(b, func(b *testing.B, s scene) {
		plan := s.plan(b, nil, nil)
		for b.Loop() {
			s.apply(b, plan)
		}
	})
}

// BenchmarkRefresh plans a configuration that is already applied, so nothing changes.
func BenchmarkRefresh(b *testing.B) {
	each(b, func(b *testing.B, s scene) {
		state := s.apply(b, s.plan(b, nil, nil))
		for b.Loop() {
			if s.plan(b, state, nil).Applyable {
				b.Fatal("something has changed")
			}
		}
	})
}

// BenchmarkDestroy plans to destroy everything, and destroys it.
func BenchmarkDestroy(b *testing.B) {
	each(b, func(b *testing.B, s scene) {
		state := s.apply(b, s.plan(b, nil, nil))
		for b.Loop() {
			s.apply(b, s.plan(b, state, &engine.PlanOptions{Mode: plans.Destroy, SkipRefresh: true}))
		}
	})
}

// BenchmarkEvaluate evaluates "for" expressions over lists of n elements. The time must grow
// linearly with n.
func BenchmarkEvaluate(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("for/%d", n), func(b *testing.B) {
			cfg, err := loadArchive(&txtar.Archive{Files: []txtar.File{{Name: "main.tf", Data: fmt.Appendf(nil, `
locals {
  all   = flatten([for i in range(%d) : [for j in range(1000) : i * 1000 + j]])
  named = [for x in local.all : { id = "x-${x}", v = x }]
  byID  = { for o in local.named : o.id => o.v }
}
output "n" { value = length(local.byID) }
`, n/1000)}}}, tfdiags.Drop)
			if err != nil {
				b.Fatal(err)
			}
			env := enginetest.NewSession(b.TempDir()).Env()
			for b.Loop() {
				if _, err := engine.Plan(context.Background(), cfg, states.New(), env, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
