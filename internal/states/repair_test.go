package states_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// TestRepairDependencies checks states that are written as lists of "resource: dependencies". In
// these lists, "old>new" is a resource that was moved, ! marks a resource that is up to date, and ?
// precedes dependencies in the configuration.
func TestRepairDependencies(t *testing.T) {
	for _, test := range []struct{ name, before, now, want string }{
		{"nothing changes", "a: b, b: c, c:", "a: b, b: c, c:", "a: b, b: c, c:"},
		{"removed between two", "a: b, b: c, c:", "a: b, c:", "a: b c, c:"},
		{"several removed between two", "a: b, b: c, c: d e, d:, e:", "a: b, d:, e:", "a: b d e, d:, e:"},
		{"removed with its dependencies", "a: b, b: c, c:", "a: b", "a: b"},
		{"dependency dropped", "a: b, b: c, c:", "a: b, !b:, c:", "a: b c, b:, c:"},
		{"several dependencies dropped, one removed", "a: b, b: c d, c: e, d:, e:", "a: b, !c:, d:, e:",
			"a: b c d e, c:, d:, e:"},
		{"passed on by a resource that is not up to date", "a: b, b: c, c: d, d:", "a: b, b: c, !c:, d:",
			"a: b, b: c d, c:, d:"},
		{"up to date: lost dependencies ignored", "a: b, b: c, c:", "!a: b, !b:, c:", "a: b, b:, c:"},
		{"up to date: dependencies in the configuration", "a: x", "!a: x, ?x: y, y:", "a: x y, y:"},
		{"not up to date: both", "a: x, x: z, z:", "a: x, ?x: y, y:, z:", "a: x y z, y:, z:"},
		{"chain without objects", "a: x", "!a: x, ?x: y, ?y: z b, b:, ?b: c", "a: b x y z, b:"},
		{"moved", "a: b, b>n: c, c:", "a: b, n: c, c:", "a: b c, c:, n: c"},
		{"cycle", "a: b, b: c, c: a", "a: b, c: a", "a: b c, c: a"},
		{"no dependency on itself", "a: b, b: a c, c:", "a: b, c:", "a: b c, c:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			configured, upToDate := map[addrs.ConfigResource]*states.Dependencies{}, map[addrs.ConfigResource]bool{}
			before, now := states.New(), states.New()
			moved := map[addrs.AbsInstance]addrs.AbsInstance{}
			parseDependencies(test.before, func(_ byte, addr addrs.AbsInstance, deps *states.Dependencies) {
				if from, to, ok := strings.Cut(addr.Resource.Name, ">"); ok {
					addr.Resource.Name = to
					moved[addr] = addrs.AbsInstance{Module: addr.Module, Resource: thing(from), Key: addr.Key}
				}
				before.SetCurrent(addr, &states.Object{Dependencies: deps}, addrs.ProviderInstance{})
			})
			parseDependencies(test.now, func(mark byte, addr addrs.AbsInstance, deps *states.Dependencies) {
				if mark == '?' {
					configured[addr.Config()] = deps
					return
				}
				upToDate[addr.Config()] = mark == '!'
				now.SetCurrent(addr, &states.Object{Dependencies: deps}, addrs.ProviderInstance{})
			})
			now.RepairDependencies(states.DependencyRepair{
				Before:     before,
				Moved:      moved,
				Configured: func(addr addrs.ConfigResource) *states.Dependencies { return configured[addr] },
				UpToDate:   func(addr addrs.AbsInstance, _ *states.Object) bool { return upToDate[addr.Config()] },
			})
			var got []string
			for _, r := range now.Sorted() {
				line := r.Addr.Resource.Name + ":"
				for dep := range r.Instances[addrs.NoKey].Current.Dependencies.All() {
					line += " " + dep.Resource.Name
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func parseDependencies(text string, each func(mark byte, addr addrs.AbsInstance, deps *states.Dependencies)) {
	for item := range strings.SplitSeq(text, ", ") {
		name, list, _ := strings.Cut(item, ":")
		var deps []addrs.ConfigResource
		for dep := range strings.FieldsSeq(list) {
			deps = append(deps, addrs.ConfigResource{Resource: thing(dep)})
		}
		bare := strings.TrimLeft(name, "!?")
		each(name[0], addrs.AbsInstance{Module: addrs.RootInstance, Resource: thing(bare), Key: addrs.NoKey},
			states.NewDependencies(deps))
	}
}

func thing(name string) addrs.Resource {
	return addrs.Resource{Mode: addrs.Managed, Type: "thing", Name: name}
}
