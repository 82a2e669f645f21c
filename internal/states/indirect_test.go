package states_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// dependencySet returns the set of the resources of type t with the given names.
func dependencySet(names string) *states.Dependencies {
	var list []addrs.ConfigResource
	for _, name := range strings.Fields(names) {
		list = append(list, addrs.ConfigResource{Resource: addrs.Resource{Mode: addrs.Managed, Type: "t", Name: name}})
	}
	return states.NewDependencies(list)
}

// stateWith returns a state with an object for each line of the form "name: dependencies". A name
// with a key, as in a#1, is an instance of the resource.
func stateWith(text string) *states.State {
	s := states.New()
	for line := range strings.Lines(text) {
		name, deps, _ := strings.Cut(strings.TrimSpace(line), ":")
		addr := addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "t"}}
		var key string
		if addr.Resource.Name, key, _ = strings.Cut(name, "#"); key != "" {
			addr.Key = addrs.StringKey(key)
		}
		s.SetCurrent(addr, &states.Object{Attrs: []byte("{}"), Dependencies: dependencySet(deps)}, addrs.ProviderInstance{})
	}
	return s
}

func TestListed(t *testing.T) {
	for name, c := range map[string]struct{ state, want string }{
		"chain":               {"a:\nb: a\nc: b\nd: c", "c: a b\nd: a b c"},
		"diamond":             {"top:\nl: top\nr: top\nbottom: l r", "bottom: l r top"},
		"nothing indirect":    {"a:\nb: a\nc: a b", ""},
		"already closed":      {"a:\nb: a\nc: a b\nd: c", "d: a b c"},
		"instances differ":    {"a:\nx:\nb#1: a\nb#2: x\nc: b", "c: a b x"},
		"no object":           {"c: gone\nd: c", "d: c gone"},
		"cycle":               {"a: b\nb: c\nc: a\nd: a", "a: b c\nc:\nd: a b c"},
		"one user on a cycle": {"a: b\nb: a\nc: b", "b:"},
		"cycles that meet":    {"a: b d\nb: a c\nc: a b\nd: b", "a: b c d\nb: c\nc:\nd: b c"},
		"shared set":          {"a: b\nb: c\nc: a b\nd: a b", "a: b c\nc:\nd: a b c"},
		"own resource":        {"a#1:\na#2: a b\nb:\nc: a", "a: b\nc: a b"},
		"moved to the first":  {"a#1:\na#2: b\nb: a", "a:"},
		"moved to the last":   {"p: q\nq#1:\nq#2: p", "q:"},
	} {
		t.Run(name, func(t *testing.T) {
			s, got := stateWith(c.state), []string{}
			listed := s.Listed()
			for _, r := range s.Sorted() {
				for _, key := range r.SortedKeys() {
					set := r.Instances[key].Current.Dependencies
					list := listed.Acyclic(r.Addr.Config(), set)
					if all := listed.Indirect(list); all != nil {
						list = all
					}
					if list != set {
						got = append(got, r.Addr.Resource.Name+":"+names(list))
					}
				}
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got\n%s\nwant\n%s", text, c.want)
			}
		})
	}
}

func names(d *states.Dependencies) (out string) {
	for dep := range d.All() {
		out += " " + dep.Resource.Name
	}
	return out
}

// TestManyIndirect checks that the indirect dependencies of a long chain are the nearest ones, and
// that their number grows only linearly.
func TestManyIndirect(t *testing.T) {
	const n = 4000
	var text strings.Builder
	text.WriteString("r0000:\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&text, "r%04d: r%04d\n", i, i-1)
	}
	s := stateWith(text.String())
	listed, total := s.Listed(), 0
	all := func(name string) *states.Dependencies {
		obj := s.Current(addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "t", Name: name}})
		return listed.Indirect(obj.Dependencies)
	}
	for i := 2; i < n; i++ {
		total += all(fmt.Sprintf("r%04d", i)).Len() - 1
	}
	if total < n || total > 15*n {
		t.Errorf("%d indirect dependencies of %d objects", total, n)
	}
	got := strings.Fields(names(all("r3999")))
	if !slices.Contains(got, "r3998") || !slices.Contains(got, "r3990") || slices.Contains(got, "r3000") {
		t.Errorf("the last one of the chain depends on %v", got)
	}
}
