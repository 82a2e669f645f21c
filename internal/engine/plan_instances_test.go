package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/tfdiags"
)

// TestPlanTakesTheLongestChain checks how long a plan takes if instances of its blocks read single
// instances of other blocks. It must take as long as the slowest chain of instances, not as long as
// the slowest instances of all blocks in sequence. The test covers both reading data sources and
// refreshing objects.
func TestPlanTakesTheLongestChain(t *testing.T) {
	const n = 50
	const config = `
data "fake_find" "a" {
  for_each = { for i in range(50) : "k${i}" => i }
  name     = "a${each.value}"
}
data "fake_find" "b" {
  for_each = data.fake_find.a
  name     = "b${trimprefix(each.key, "k")}${each.value.text}"
}
resource "fake_thing" "c" {
  count = 50
  name  = "c${count.index}"
  v     = data.fake_find.b["k${count.index}"].text
}
resource "fake_thing" "d" {
  count = 50
  name  = "d${count.index}"
  v     = fake_thing.c[count.index].id
}
`
	synctest.Test(t, func(t *testing.T) {
		s := enginetest.NewSession(t.TempDir())
		files := map[string]string{"main.tf": config}
		if got, err := s.Do(&enginetest.Step{Files: files}); err != nil || got.Problems != "" {
			t.Fatal(err, got)
		}
		cfg, err := s.Load(files, nil, tfdiags.Drop)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		var longest, slowestOfEach time.Duration
		chains, slowest := make([]time.Duration, n), map[string]time.Duration{}
		s.Cloud.On = map[string]func(){}
		for i := range n {
			for kind, call := range map[string]string{"a": "data a%d", "b": "data b%d", "c": "read c%d-1",
				"d": "read d%d-1"} {
				takes := time.Duration(random.IntN(1000)) * time.Millisecond
				s.Cloud.On[fmt.Sprintf(call, i)] = func() { time.Sleep(takes) }
				chains[i] += takes
				slowest[kind] = max(slowest[kind], takes)
			}
			longest = max(longest, chains[i])
		}
		for _, d := range slowest {
			slowestOfEach += d
		}
		env := s.Env()
		env.Parallelism = 4 * n
		began := time.Now()
		plan, err := engine.Plan(context.Background(), cfg, s.State, env, nil)
		if err != nil || plan.Applyable {
			t.Fatal(err, enginetest.DescribePlan(plan))
		}
		if took := time.Since(began); took != longest || longest >= slowestOfEach {
			t.Errorf("took %s, the longest chain takes %s, block after block %s", took, longest, slowestOfEach)
		}
	})
}

// TestModulesTakeTheLongestChain is like TestPlanTakesTheLongestChain, but the instances read each
// other through arguments and outputs of modules. It checks both a plan and an apply.
func TestModulesTakeTheLongestChain(t *testing.T) {
	const n = 20
	keys := `{ for i in range(20) : "k${i}" => i }`
	for name, c := range map[string]string{
		"arguments": `
resource "fake_thing" "a" {
  for_each = KEYS
  name     = "a${each.value}"
}
module "m" {
  for_each = KEYS
  source   = "./inner"
  name     = "b${each.value}"
  in       = fake_thing.a[each.key].id
}
`,
		"each value": `
data "fake_find" "a" {
  for_each = KEYS
  name     = "a${each.value}"
}
module "m" {
  for_each = data.fake_find.a
  source   = "./inner"
  name     = "b${trimprefix(each.key, "k")}"
  in       = each.value.text
}
`,
		"outputs": `
module "m" {
  for_each = KEYS
  source   = "./inner"
  name     = "a${each.value}"
  in       = "-"
}
resource "fake_thing" "b" {
  for_each = KEYS
  name     = "b${each.value}"
  v        = module.m[each.key].out
}
`,
		"outputs and arguments": `
module "m" {
  for_each = KEYS
  source   = "./inner"
  name     = "a${each.value}"
  in       = "-"
}
module "n" {
  for_each = KEYS
  source   = "./outer"
  name     = "b${each.value}"
  in       = module.m[each.key].out
}
resource "fake_thing" "c" {
  for_each = KEYS
  name     = "c${each.value}"
  v        = module.n[each.key].out
}
`,
		"nested": `
module "all" {
  source = "./nested"
}
resource "fake_thing" "d" {
  for_each = KEYS
  name     = "d${each.value}"
  v        = module.all.out[each.key]
}
`,
		"blocks in a module": `
resource "fake_thing" "a" {
  count = 20
  name  = "a${count.index}"
}
module "m" {
  count  = 2
  source = "./pairs"
  at     = count.index
  in     = fake_thing.a[count.index].id
}
resource "fake_thing" "d" {
  count = 2
  name  = "d${count.index}"
  v     = module.m[count.index].out
}
`,
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"main.tf": c, "inner/main.tf": `
variable "name" {}
variable "in" {}
locals {
  in = var.in
}
resource "fake_thing" "x" {
  name = var.name
  v    = local.in
}
output "out" {
  value = fake_thing.x.id
}
`, "outer/main.tf": `
variable "name" {}
variable "in" {}
module "inner" {
  source = "../inner"
  name   = var.name
  in     = var.in
}
output "out" {
  value = module.inner.out
}
`, "nested/main.tf": `
resource "fake_thing" "a" {
  for_each = KEYS
  name     = "a${each.value}"
}
module "n" {
  for_each = KEYS
  source   = "../outer"
  name     = "b${each.value}"
  in       = fake_thing.a[each.key].id
}
resource "fake_thing" "c" {
  for_each = KEYS
  name     = "c${each.value}"
  v        = module.n[each.key].out
}
output "out" {
  value = { for k in keys(KEYS) : k => "known" }
}
`, "pairs/main.tf": `
variable "at" {}
variable "in" {}
resource "fake_thing" "b" {
  count = 10
  name  = "b${var.at * 10 + count.index}"
  v     = var.in
}
resource "fake_thing" "c" {
  count = 10
  name  = "c${var.at * 10 + count.index}"
  v     = fake_thing.b[count.index].id
}
output "out" {
  value = "known"
}
`}
			for name, text := range files {
				files[name] = strings.ReplaceAll(text, "KEYS", keys)
			}
			synctest.Test(t, func(t *testing.T) {
				s := enginetest.NewSession(t.TempDir())
				cfg, err := s.Load(files, nil, tfdiags.Drop)
				if err != nil {
					t.Fatal(err)
				}
				random := rand.New(rand.NewPCG(1, 2))
				takes := map[string]time.Duration{}
				s.Cloud.On = map[string]func(){}
				for i := range n {
					for _, kind := range []string{"a", "b", "c", "d"} {
						object := fmt.Sprintf("%s%d", kind, i)
						took := time.Duration(random.IntN(1000)) * time.Millisecond
						takes[object] = took
						wait := func() { time.Sleep(took) }
						s.Cloud.On["create "+object], s.Cloud.On["read "+object+"-1"] = wait, wait
						s.Cloud.On["data "+object] = wait
					}
				}
				env := s.Env()
				env.Parallelism = 4 * n
				check := func(what string, run func() error) {
					s.Cloud.Calls()
					began := time.Now()
					if err := run(); err != nil {
						t.Fatal(err)
					}
					took, called := time.Since(began), map[string]bool{}
					for _, call := range s.Cloud.Calls() {
						if _, object, ok := strings.Cut(call.What, " "); ok {
							called[strings.TrimSuffix(object, "-1")] = true
						}
					}
					if longest := longestOf(name, called, takes); took != longest {
						t.Errorf("the %s took %s, the longest chain takes %s", what, took, longest)
					}
				}
				plan, err := engine.Plan(context.Background(), cfg, s.State, env, nil)
				if err != nil {
					t.Fatal(err)
				}
				check("apply", func() error {
					s.State, err = engine.Apply(context.Background(), cfg, plan, env, nil)
					return err
				})
				check("plan", func() error {
					plan, err := engine.Plan(context.Background(), cfg, s.State, env, nil)
					if err == nil && plan.Applyable {
						err = fmt.Errorf("%s", enginetest.DescribePlan(plan))
					}
					return err
				})
			})
		})
	}
}

// longestOf returns the duration of the longest chain of reads in the test case called name. read
// holds the objects that are read, and takes holds the duration of each read. By default, objects
// with the same number read each other in alphabetical order.
func longestOf(name string, read map[string]bool, takes map[string]time.Duration) (longest time.Duration) {
	took := func(object string) time.Duration {
		if !read[object] {
			return 0
		}
		return takes[object]
	}
	for i := range len(read) {
		at, from := fmt.Sprint(i), fmt.Sprint(i)
		switch {
		case name == "blocks in a module":
			from = fmt.Sprint(i / 10)
			longest = max(longest, took("a"+from)+took("b"+at)+took("c"+at), took("a"+at), took("d"+at))
		case name == "nested":
			longest = max(longest, took("a"+from)+took("b"+at)+took("c"+at), took("d"+at))
		default:
			longest = max(longest, took("a"+from)+took("b"+at)+took("c"+at)+took("d"+at))
		}
	}
	return longest
}
