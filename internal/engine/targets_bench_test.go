package engine_test

import (
	"fmt"
	"runtime"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/engine"
)

// throughArgument returns a configuration with n instances of a resource. The instances of a module
// call read them through an argument, and other instances read an output of each instance of the
// call.
func throughArgument(n int) map[string]string {
	count := fmt.Sprintf("  count = %d\n", n)
	return map[string]string{
		"main.tf": block("a", count, "count.index") + block("r", count, "module.m[count.index].out") +
			"module \"m\" {\n  source = \"./m\"\n" + count + "  id = terraform_data.a[count.index].id\n}\n",
		"m/main.tf": block("b", "", "var.id") +
			"variable \"id\" {}\noutput \"out\" {\n  value = terraform_data.b.id\n}\n",
	}
}

// dataTarget returns a target for terraform_data.NAME, or for its instance with the given key.
func dataTarget(name string, key addrs.InstanceKey) addrs.Target {
	return addrs.Target{Resource: addrs.Resource{Mode: addrs.Managed, Type: "terraform_data", Name: name},
		Key: key, HasKey: key != addrs.NoKey}
}

// partialPlans are partial plans of the configuration throughArgument.
var partialPlans = []struct {
	name    string
	options engine.PlanOptions
}{
	{"target one", engine.PlanOptions{Targets: []addrs.Target{dataTarget("r", addrs.IntKey(5))}}},
	{"target all", engine.PlanOptions{Targets: []addrs.Target{dataTarget("r", addrs.NoKey)}}},
	{"exclude one", engine.PlanOptions{Excludes: []addrs.Target{dataTarget("a", addrs.IntKey(5))}}},
	{"exclude all", engine.PlanOptions{Excludes: []addrs.Target{dataTarget("a", addrs.NoKey)}}},
}

func BenchmarkTargets(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000, 8000} {
		s := load(b, throughArgument(n))
		for _, p := range partialPlans {
			b.Run(fmt.Sprintf("%s/%d", p.name, n), func(b *testing.B) {
				for b.Loop() {
					s.plan(b, nil, &p.options)
				}
			})
		}
	}
}

// TestTargetsGrow checks that the cost of a partial plan grows in proportion to the number of
// instances. It measures the allocated memory, which doesn't depend on other load.
func TestTargetsGrow(t *testing.T) {
	const small, factor = 500, 8
	for _, p := range partialPlans {
		var allocated [2]uint64
		for i, n := range []int{small, small * factor} {
			s := load(t, throughArgument(n))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s.plan(t, nil, &p.options)
			runtime.ReadMemStats(&after)
			allocated[i] = after.TotalAlloc - before.TotalAlloc
		}
		if growth := float64(allocated[1]) / float64(allocated[0]); growth > 1.5*factor {
			t.Errorf("%s: with %d times as many instances, a plan allocates %.1f times as much memory",
				p.name, factor, growth)
		}
	}
}
