package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// corners are configurations and options with a large number of something other than resources,
// such as outputs or targets.
var corners = []struct {
	name  string
	files func(n int) map[string]string
	run   func(b *testing.B, s scene, n int, prior *states.State)
}{
	{"outputs", func(n int) map[string]string {
		files := blocks(n, func(i int) string { return fmt.Sprint(i) })
		for i := range n {
			files["main.tf"] += fmt.Sprintf("output \"o%d\" {\n  value = %s\n}\n", i, reference(i))
		}
		return files
	}, func(b *testing.B, s scene, n int, prior *states.State) {
		s.plan(b, prior, &engine.PlanOptions{Targets: someTargets(b, n, 2)})
	}},
	{"targets", func(n int) map[string]string { return blocks(n, layered) },
		func(b *testing.B, s scene, n int, prior *states.State) {
			s.plan(b, prior, &engine.PlanOptions{Targets: someTargets(b, n, n/2)})
			s.plan(b, prior, &engine.PlanOptions{Excludes: someTargets(b, n, n/2)})
			s.plan(b, prior, &engine.PlanOptions{Targets: someTargets(b, n, n/2), Mode: plans.Destroy})
		}},
	{"instance targets", func(n int) map[string]string {
		return map[string]string{"main.tf": block("a", fmt.Sprintf("  count = %d\n", n), "count.index")}
	}, func(b *testing.B, s scene, n int, prior *states.State) {
		var targets []addrs.Target
		for i := range n / 2 {
			targets = append(targets, target(b, fmt.Sprintf("terraform_data.a[%d]", i)))
		}
		s.plan(b, prior, &engine.PlanOptions{Targets: targets})
	}},
	{"depends on modules", func(n int) map[string]string {
		inner := blocks(n/2, func(i int) string { return fmt.Sprint(i) })["main.tf"]
		return map[string]string{"main.tf": "module \"m\" {\n  source = \"./mod\"\n}\nmodule \"n\" {\n  " +
			"source = \"./mod\"\n  depends_on = [module.m]\n}\n", "mod/main.tf": inner}
	}, func(b *testing.B, s scene, _ int, prior *states.State) {
		s.apply(b, s.plan(b, prior, &engine.PlanOptions{Mode: plans.Destroy}))
	}},
	{"list of all", func(n int) map[string]string {
		var all []string
		for i := range n / 2 {
			all = append(all, fmt.Sprintf("terraform_data.r%d.id", i))
		}
		files := blocks(n, func(i int) string {
			if i < n/2 {
				return fmt.Sprint(i)
			}
			return "length(local.all)"
		})
		files["main.tf"] += "locals {\n  all = [" + strings.Join(all, ", ") + "]\n}\n"
		return files
	}, func(b *testing.B, s scene, _ int, prior *states.State) {
		s.apply(b, s.plan(b, prior, &engine.PlanOptions{Mode: plans.Destroy}))
	}},
	{"moves", func(n int) map[string]string {
		files := blocks(n, func(i int) string { return fmt.Sprint(i) })
		for i := range n {
			files["main.tf"] += fmt.Sprintf("moved {\n  from = terraform_data.old%d\n  to   = "+
				"terraform_data.r%d\n}\n", i, i)
		}
		return files
	}, func(b *testing.B, s scene, _ int, prior *states.State) { s.plan(b, prior, nil) }},
	{"many users", func(n int) map[string]string {
		files := blocks(n/2, func(int) string { return "terraform_data.a[*].id" })
		files["main.tf"] += block("a", fmt.Sprintf("  count = %d\n", 10), "count.index")
		return files
	}, func(b *testing.B, s scene, _ int, prior *states.State) {
		s.apply(b, s.plan(b, prior, &engine.PlanOptions{Mode: plans.Destroy}))
	}},
	{"module instances", func(n int) map[string]string {
		return map[string]string{"main.tf": fmt.Sprintf("module \"m\" {\n  source = \"./mod\"\n  count = %d\n "+
			" name = count.index\n}\noutput \"o\" {\n  value = module.m[*].last\n}\n%s", n/4,
			block("z", "", "length(module.m)")),
			"mod/main.tf": blocks(4, func(i int) string {
				if i == 0 {
					return "var.name"
				}
				return reference(i - 1)
			})["main.tf"] + "variable \"name\" {}\noutput \"last\" {\n  value = " + reference(3) + "\n}\n"}
	}, func(b *testing.B, s scene, _ int, prior *states.State) {
		s.apply(b, s.plan(b, prior, &engine.PlanOptions{Mode: plans.Destroy}))
	}},
	{"named instances", func(n int) map[string]string {
		refs := []string{"terraform_data.a[local.first].output"}
		for i := range n {
			refs = append(refs, fmt.Sprintf("terraform_data.a[%d].output", i))
		}
		return map[string]string{"main.tf": "locals {\n  first = 0\n}\n" +
			block("a", fmt.Sprintf("  count = %d\n", n), "count.index") +
			block("b", "", "["+strings.Join(refs, ", ")+"]")}
	}, func(b *testing.B, s scene, n int, prior *states.State) {
		s.plan(b, prior, nil)
		s.plan(b, prior, &engine.PlanOptions{Targets: []addrs.Target{target(b, "terraform_data.b")}})
		s.apply(b, s.plan(b, prior, &engine.PlanOptions{Mode: plans.Destroy}))
		s.apply(b, s.plan(b, nil, nil))
	}},
	{"unchanged instances", func(n int) map[string]string {
		var refs []string
		for i := range n {
			refs = append(refs, fmt.Sprintf("terraform_data.c[%d].output", i))
		}
		count := fmt.Sprintf("  count = %d\n", n)
		return map[string]string{"main.tf": block("a", count, "count.index") +
			block("c", count, "terraform_data.a[count.index].output") +
			block("one", count, "terraform_data.c[0].output") +
			block("many", "", "["+strings.Join(refs, ", ")+"]")}
	}, func(b *testing.B, s scene, _ int, prior *states.State) {
		var replaced []addrs.AbsInstance
		for _, text := range []string{"terraform_data.one[0]", "terraform_data.many"} {
			addr, err := addrs.ParseInstanceText(text)
			check(b, err)
			replaced = append(replaced, addr)
		}
		s.apply(b, s.plan(b, prior, &engine.PlanOptions{ForceReplace: replaced}))
	}},
	{"removed", func(n int) map[string]string { return blocks(n, layered) },
		func(b *testing.B, s scene, _ int, prior *states.State) {
			empty := load(b, map[string]string{"main.tf": "terraform {\n  required_providers {}\n}\n"})
			empty.apply(b, empty.plan(b, prior, nil))
		}},
}

func target(b *testing.B, text string) addrs.Target {
	t, err := addrs.ParseTargetText(text)
	check(b, err)
	return t
}

func someTargets(b *testing.B, n, count int) []addrs.Target {
	var out []addrs.Target
	for i := range count {
		out = append(out, target(b, fmt.Sprintf("terraform_data.r%d", i*(n/count))))
	}
	return out
}

// BenchmarkCorners measures cases that could take more than linear time.
func BenchmarkCorners(b *testing.B) {
	for _, c := range corners {
		for _, n := range []int{500, 1000, 2000, 4000} {
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(c.name, " ", "-"), n), func(b *testing.B) {
				s := load(b, c.files(n))
				prior := s.apply(b, s.plan(b, nil, nil))
				b.ReportAllocs()
				for b.Loop() {
					c.run(b, s, n, prior)
				}
			})
		}
	}
}
