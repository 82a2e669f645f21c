package states_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// content describes everything in a state.
func content(s *states.State) string {
	var b strings.Builder
	for _, r := range s.Sorted() {
		fmt.Fprintf(&b, "%s by %s\n", r.Addr, r.Provider)
		for _, key := range r.SortedKeys() {
			inst := r.Instances[key]
			fmt.Fprintf(&b, "  %s: %p by %s\n", key, inst.Current, inst.ProviderKey)
			var deposed []string
			for k, o := range inst.Deposed {
				deposed = append(deposed, fmt.Sprintf("    %s: %p\n", k, o))
			}
			slices.Sort(deposed)
			b.WriteString(strings.Join(deposed, ""))
		}
	}
	return b.String()
}

// TestClonesAreIndependent changes states that are copies of one another, at random. A change must
// have the same effect as on a state that was never copied, and none on any other state.
func TestClonesAreIndependent(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		// Each pair has a state and the same state built without copies, by repeating its changes.
		type pair struct {
			cloned  *states.State
			changes []func(*states.State)
		}
		again := func(p *pair) string {
			s := states.New()
			for _, change := range p.changes {
				change(s)
			}
			return content(s)
		}
		all := []*pair{{cloned: states.New()}}
		for step := range 60 {
			p := all[rng.IntN(len(all))]
			if rng.IntN(5) == 0 && len(all) < 6 {
				all = append(all, &pair{p.cloned.Clone(), slices.Clone(p.changes)})
				continue
			}
			change := randomChange(rng)
			change(p.cloned)
			p.changes = append(p.changes, change)
			for i, p := range all {
				if got, want := content(p.cloned), again(p); got != want {
					t.Fatalf("seed %d, step %d, state %d: got\n%s\nwant\n%s", seed, step, i, got, want)
				}
			}
		}
	}
}

// randomChange returns a change that has the same effect each time.
func randomChange(rng *rand.Rand) func(*states.State) {
	address := func() addrs.AbsInstance {
		return addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "t",
			Name: string(rune('a' + rng.IntN(3)))}, Key: addrs.IntKey(rng.IntN(3))}
	}
	addr, other, obj, what := address(), address(), &states.Object{Attrs: []byte("{}")}, rng.IntN(9)
	if rng.IntN(3) == 0 {
		obj = nil
	}
	key := addrs.DeposedKey(fmt.Sprintf("%08x", rng.IntN(2)))
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.DefaultProvider("lab"),
		Alias: []string{"", "x"}[rng.IntN(2)]}}
	return func(s *states.State) {
		switch what {
		case 0, 1, 2:
			s.SetCurrent(addr, obj, provider)
		case 3, 4:
			s.SetDeposed(addr, key, obj, provider)
		case 5:
			s.Forget(addr)
		case 6:
			s.RemoveResource(addr.Abs())
		case 7:
			if r := s.Resource(addr.Abs()); r != nil {
				s.EnsureResource(addr.Abs(), provider.Config)
				s.RenameDependencies(map[addrs.AbsInstance]addrs.AbsInstance{addr: other})
			}
		case 8:
			if inst := s.Instance(addr); inst != nil && s.Instance(other) == nil {
				s.Forget(addr)
				s.SetInstance(other, inst, provider.Config)
			}
			s.Prune()
		}
	}
}
