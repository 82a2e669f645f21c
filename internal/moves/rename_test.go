package moves_test

import (
	"fmt"
	"slices"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/moves"
	"tofu/internal/states"
)

// TestDependencyMovesIntoResource moves an object into the resource of an object that depends on it.
// The dependent must not list its own resource, which OpenTofu reports as a cycle.
func TestDependencyMovesIntoResource(t *testing.T) {
	build := func() *states.State {
		s := states.New()
		needed := parseInstance(t, "x_a.needed")
		provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.DefaultProvider("x")}}
		s.SetCurrent(needed, &states.Object{Attrs: []byte(`{}`)}, provider)
		shared := states.NewDependencies([]addrs.ConfigResource{needed.Config()})
		for _, addr := range []string{"x_a.user[0]", "x_a.other"} {
			s.SetCurrent(parseInstance(t, addr), &states.Object{Attrs: []byte(`{}`), Dependencies: shared,
				DependencyInstances: []addrs.AbsInstance{needed}}, provider)
		}
		return s
	}
	within, from, to := build(), build(), states.New()
	if _, err := moves.Rename(within, within, parseTarget(t, "x_a.needed"), parseTarget(t, "x_a.user[5]")); err != nil {
		t.Fatal(err)
	}
	if _, err := moves.Transfer(from, to, []moves.Pair{
		{From: parseTarget(t, "x_a.needed"), To: parseTarget(t, "x_a.user[5]")},
		{From: parseTarget(t, "x_a.user[0]"), To: parseTarget(t, "x_a.user[0]")},
		{From: parseTarget(t, "x_a.other"), To: parseTarget(t, "x_a.other")},
	}); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*states.State{"rename": within, "transfer": to} {
		for addr, want := range map[string]string{
			"x_a.user[0]": "[] [x_a.user[5]]",
			"x_a.other":   "[x_a.user] [x_a.user[5]]",
		} {
			obj := s.Instance(parseInstance(t, addr)).Current
			got := fmt.Sprint(slices.Collect(obj.Dependencies.All()), obj.DependencyInstances)
			if got != want {
				t.Errorf("%s: %s needs %s, want %s", name, addr, got, want)
			}
		}
	}
}
