package engine_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// readsEarly applies a configuration in which instances of resource b read instances of resource a.
// It uses a wrong graph, in which the node early doesn't wait for the node late.
type readsEarly struct {
	reader, early, late string
	reversed            bool // whether the node late waits for the node early, instead of the other way around
	n, workers          int
	fail                string // key of the call that fails; see enginetest.Cloud.Fail
}

func (c *readsEarly) apply(t *testing.T, ends bool) (*enginetest.Session, error) {
	t.Helper()
	s, cfg := loadFor(t, fmt.Sprintf(`
resource "fake_thing" "a" {
  count = %[1]d
  name  = "a${count.index}"
}
resource "fake_thing" "b" {
  count = %[1]d
  name  = "b${count.index}"
  v     = %[2]s
}
`, c.n, c.reader))
	env := s.Env()
	env.CheckReads, env.Parallelism = ends, c.workers
	s.Cloud.Delay = enginetest.Delay
	plan, err := engine.Plan(context.Background(), cfg, s.State, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Cloud.Fail = map[string]string{c.fail: ""}
	var with []engine.Order
	if c.reversed {
		with = []engine.Order{{Node: c.late, For: c.early}}
	}
	s.State, err = engine.ApplyTooEarly(context.Background(), cfg, plan, env,
		[]engine.Order{{Node: c.early, For: c.late}}, with)
	return s, err
}

func loadFor(t *testing.T, config string) (*enginetest.Session, *configs.Config) {
	t.Helper()
	s := enginetest.NewSession(t.TempDir())
	cfg, err := s.Load(map[string]string{"main.tf": config}, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	return s, cfg
}

// TestReadTooEarly checks that an apply stops if its graph lets an instance be read before it is
// finished. Sessions of package enginetest have this check enabled by default.
func TestReadTooEarly(t *testing.T) {
	for _, c := range []struct{ reader, early, late, read string }{
		{"fake_thing.a[count.index].id", "fake_thing.b[1]", "fake_thing.a[1]", "fake_thing.a[1]"},
		{"tolist(fake_thing.a[*].id)[1]", "fake_thing.b (needs)", "fake_thing.a (read)", "fake_thing.a"},
	} {
		s, err := (&readsEarly{reader: c.reader, early: c.early, late: c.late, reversed: true, n: 2}).apply(t, true)
		if err == nil || !strings.Contains(err.Error(), "reads "+c.read+" before it is finished") {
			t.Errorf("%s: %v", c.reader, err)
		}
		if slices.ContainsFunc(s.Cloud.Objects(), func(id string) bool { return strings.HasPrefix(id, "b1-") }) {
			t.Errorf("%s: b[1] was created", c.reader)
		}
	}
}

// TestReaderWaits checks that a reader waits if the graph lets it begin too early, even if there
// are more such readers than workers. The result must be the same as with the right graph.
func TestReaderWaits(t *testing.T) {
	for _, c := range []readsEarly{
		{reader: "fake_thing.a[count.index].id", early: "fake_thing.b[1]", late: "fake_thing.a[1]", n: 2},
		{reader: "tolist(fake_thing.a[*].id)[1]", early: "fake_thing.b (needs)", late: "fake_thing.a (read)", n: 2},
		{reader: "tolist(fake_thing.a[*].id)[1]", early: "fake_thing.b (needs)", late: "fake_thing.a (read)", n: 40, workers: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, err := c.apply(t, false)
			if err != nil {
				t.Fatalf("%s: %v", c.reader, err)
			}
			got := enginetest.Describe(s.State)
			if !strings.Contains(got, "fake_thing.b[1]: b1-1 v=a1-1 ") || len(s.Cloud.Objects()) != 2*c.n {
				t.Errorf("%s: got\n%s", c.reader, got)
			}
		})
	}
}

// TestReaderLeavesPlace checks a provisioner whose argument reads an instance too early. While the
// provisioner waits, that instance must be able to use its call slot. An interrupt must end the
// wait.
func TestReaderLeavesPlace(t *testing.T) {
	for _, c := range []struct{ fail, interrupt, end, problem string }{
		{"", "", "create a-1\nnote a-1\n", ""},
		{"create a", "", "fail create a\n", "its evaluation failed or was left out"},
		{"", "create third", "create third-1\n", "the operation was interrupted"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, cfg := loadFor(t, `
resource "fake_thing" "first" {
  name = "first"
}
resource "fake_thing" "second" {
  name = "second"
  v    = fake_thing.first.id
}
resource "fake_thing" "third" {
  name = "third"
  v    = fake_thing.second.id
}
resource "fake_thing" "a" {
  count = 1
  name  = "a"
  v     = fake_thing.third.id
}
resource "fake_thing" "b" {
  count = 1
  name  = "b"
  provisioner "note" {
    say = fake_thing.a[count.index].id
  }
}
`)
			env := s.Env()
			env.CheckReads, env.Parallelism = false, 1
			plan, err := engine.Plan(t.Context(), cfg, s.State, env, nil)
			if err != nil {
				t.Fatal(err)
			}
			stop := make(chan struct{})
			s.Cloud.Delay, s.Cloud.Fail = enginetest.Delay, map[string]string{c.fail: ""}
			s.Cloud.On, env.Stop = map[string]func(){c.interrupt: func() { close(stop) }}, stop
			s.Cloud.Calls()
			s.State, err = engine.ApplyTooEarly(t.Context(), cfg, plan, env,
				[]engine.Order{{Node: "fake_thing.b[0]", For: "fake_thing.a[0]"}}, nil)
			got, problem := s.Cloud.Log(), ""
			if err != nil {
				problem = detailed(err).Error()
			}
			if !strings.Contains(got, "create b-1") || !strings.HasSuffix(got, c.end) ||
				!strings.Contains(problem, c.problem) || (err != nil) != (c.problem != "") {
				t.Errorf("got %s, want %s at the end: %s", got, c.end, problem)
			}
		})
	}
}

// TestReaderCannotWait checks readers that can't wait for the instance that they read, because that
// instance waits for the reader or fails. Only the reader and its dependents may fail.
func TestReaderCannotWait(t *testing.T) {
	for _, c := range []struct {
		readsEarly
		problem string
		created bool // whether a[1] is created
	}{
		{readsEarly{reversed: true}, "its value depends on the reader", false},
		{readsEarly{fail: "create a1"}, "its evaluation failed or was left out", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.reader, c.early, c.late, c.n = "fake_thing.a[count.index].id", "fake_thing.b[1]", "fake_thing.a[1]", 2
			s, err := c.apply(t, false)
			if err == nil || !strings.Contains(detailed(err).Error(), c.problem) {
				t.Errorf("%s: %v", c.problem, detailed(err))
			}
			if got := s.Cloud.Objects(); !slices.Equal(got, []string{"a0-1", "b0-1"}) {
				t.Errorf("%s: %v", c.problem, got)
			}
		})
	}
}

// TestPlanOfReaderWaits checks that readers also wait in a plan, where each instance is planned by
// a job.
func TestPlanOfReaderWaits(t *testing.T) {
	for _, reader := range []string{
		"count = 3\n  v = data.fake_find.a[\"k${count.index}\"].text",
		"for_each = data.fake_find.a\n  v = each.value.text",
	} {
		synctest.Test(t, func(t *testing.T) {
			s, cfg := loadFor(t, `
data "fake_find" "a" {
  for_each = { k0 = 0, k1 = 1, k2 = 2 }
  name     = each.key
}
resource "fake_thing" "b" {
  name = "b"
  `+reader+`
}
`)
			s.Cloud.Delay = enginetest.Delay
			for _, workers := range []int{1, 10} {
				env := s.Env()
				env.CheckReads, env.Parallelism = false, workers
				var described []string
				for _, f := range []func() (*plans.Plan, error){
					func() (*plans.Plan, error) { return engine.Plan(context.Background(), cfg, s.State, env, nil) },
					func() (*plans.Plan, error) {
						return engine.PlanTooEarly(context.Background(), cfg, s.State, env, "fake_thing.b")
					},
				} {
					plan, err := f()
					if err != nil {
						t.Fatal(detailed(err))
					}
					described = append(described, enginetest.DescribePlan(plan))
				}
				if described[0] != described[1] {
					t.Errorf("got\n%s\nwant\n%s", described[1], described[0])
				}
				if workers == 1 {
					continue // one worker may finish the instances of a before it plans b
				}
				env.CheckReads = true
				_, err := engine.PlanTooEarly(context.Background(), cfg, s.State, env, "fake_thing.b")
				if err == nil || !strings.Contains(err.Error(), "before it is finished") {
					t.Errorf("%d workers: %v", workers, err)
				}
			}
		})
	}
}

// chained is a configuration with a module call whose instances read one another. The module has an
// ephemeral resource.
var chained = map[string]string{"main.tf": `
module "m" {
  source   = "./m"
  for_each = { a = "", b = "a" }
  in       = each.value == "" ? "none" : module.m[each.value].out
}
`, "m/main.tf": `
variable "in" {}
resource "fake_thing" "read" {
  count = 1
  name  = "read"
}
ephemeral "fake_token" "reader" {
  count = 1
  name  = "${var.in} ${fake_thing.read[count.index].name}"
}
locals {
  joined = "${var.in} ${fake_thing.read[0].name}"
  token  = ephemeral.fake_token.reader[0].value
}
resource "fake_thing" "made" {
  name = "made ${local.joined}"
  w    = local.token
}
output "out" {
  value = fake_thing.made.name
}
`}

// TestEphemeralInChainedCall checks that the ephemeral resource in chained is opened in an apply,
// and closed after the last change that uses it, in each instance of the module. What the first
// instance closes and what the second one opens have no order.
func TestEphemeralInChainedCall(t *testing.T) {
	s := enginetest.NewSession(t.TempDir())
	cfg, err := s.Load(chained, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	env := s.Env()
	s.Cloud.Delay = time.Millisecond
	plan, err := engine.Plan(t.Context(), cfg, s.State, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex              // guards order
	order := map[string][]string{} // by module instance
	var opened []string            // module instances, in the order in which their resource was opened
	env.Observe = func(e engine.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case engine.ApplyDone:
			if m := e.Addr.Module.String(); e.Addr.Resource.Name == "made" {
				order[m] = append(order[m], "made")
			}
		case engine.EphemeralStart:
			m := e.Addr.Module.String()
			order[m] = append(order[m], e.Verb)
			if e.Verb == "open" {
				opened = append(opened, m)
			}
		}
	}
	_, err = engine.Apply(t.Context(), cfg, plan, env, nil)
	want := map[string][]string{
		`module.m["a"]`: {"open", "made", "close"},
		`module.m["b"]`: {"open", "made", "close"},
	}
	if err != nil || !maps.EqualFunc(order, want, slices.Equal) {
		t.Errorf("got %q, want %q: %v", order, want, err)
	}
	if want := []string{`module.m["a"]`, `module.m["b"]`}; !slices.Equal(opened, want) {
		t.Errorf("opened in %q, want %q", opened, want)
	}
}

// TestValueCannotWait checks a value that reads an instance too early when it is first needed. It
// must not wait, because others may wait for the value.
func TestValueCannotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cfg := loadFor(t, `
resource "fake_thing" "a" {
  count = 1
  name  = "a"
}
locals {
  id = fake_thing.a[0].id
}
resource "fake_thing" "b" {
  name = "b"
  v    = local.id
}
`)
		env := s.Env()
		env.CheckReads = false
		plan, err := engine.Plan(t.Context(), cfg, s.State, env, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b := "fake_thing.a[0]", "fake_thing.b (apply)"
		_, err = engine.ApplyTooEarly(t.Context(), cfg, plan, env, []engine.Order{{Node: b, For: a}},
			[]engine.Order{{Node: a, For: b}})
		if err == nil || !strings.Contains(detailed(err).Error(), "their order isn't known") {
			t.Error(detailed(err))
		}
	})
}
