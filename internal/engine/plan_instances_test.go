package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/tfdiags"
)

// TestPlanTakesTheLongestChain checks the duration of a plan whose blocks read each other by
// instance. It must be the duration of the slowest chain of instances, not the sum over the slowest
// instance of each block. The test covers both reading data sources and refreshing objects.
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
