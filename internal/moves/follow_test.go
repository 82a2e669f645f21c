package moves

import (
	"fmt"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// TestFollow checks at which addresses the objects of an earlier state are found. A state is
// written as a list of addresses with IDs.
func TestFollow(t *testing.T) {
	tests := []struct{ name, past, present, want string }{
		{"moved", "a=1", "b=1", "b=1"},
		{"moved, and another in its place", "a=1", "b=1 a=3", "b=1"},
		{"moved to the address of another", "a=1 b=2", "b=1 a=3", "b=1, without b"},
		{"exchanged", "a=1 b=2", "a=2 b=1", "a=2 b=1"},
		{"moved into an instance", "a=1", `c["x"]=1`, `c["x"]=1`},
		{"stays", "a=1", "a=2", "a=1"},
		{"gone", "a=1", "b=2", "a=1"},
		{"without an ID", "a=", "b=", "a="},
		{"two with the ID now", "a=1", "b=1 c=1", "a=1"},
		{"two with the ID then", "a=1 b=1", "c=1", "a=1 b=1"},
		{"another type", "a=1", "u=1", "a=1"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := Follow(objects(t, tc.past), objects(t, tc.present))
			var lines []string
			for _, r := range got.State.Sorted() {
				for _, key := range r.SortedKeys() {
					name := r.Addr.Resource.Name + key.String()
					var id string
					if _, err := fmt.Sscanf(string(r.Instances[key].Current.Attrs), `{"id":%q}`, &id); err != nil {
						t.Fatal(err)
					}
					lines = append(lines, name+"="+id)
				}
			}
			text := strings.Join(lines, " ")
			for _, addr := range got.Displaced {
				text += ", without " + addr.Resource.Name
			}
			if text != tc.want {
				t.Errorf("%s and %s: got %s, want %s", tc.past, tc.present, text, tc.want)
			}
		})
	}
}

func objects(t *testing.T, text string) *states.State {
	t.Helper()
	st := states.New()
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.DefaultProvider("fake")}}
	for field := range strings.FieldsSeq(text) {
		name, id, _ := strings.Cut(field, "=")
		typ := "fake_thing."
		if name == "u" {
			typ = "fake_unit."
		}
		addr, err := addrs.ParseInstanceText(typ + name)
		if err != nil {
			t.Fatal(err)
		}
		st.SetCurrent(addr, &states.Object{Attrs: fmt.Appendf(nil, `{"id":%q}`, id)}, provider)
	}
	return st
}
