package statefile

import (
	"fmt"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// Objects with the same dependencies share one list after parsing.
func TestSharedDependencyLists(t *testing.T) {
	var deps []addrs.ConfigResource
	for i := range 100 {
		deps = append(deps, addrs.Resource{Mode: addrs.Managed, Type: "a", Name: fmt.Sprintf("d%02d", i)}.In(""))
	}
	state := states.New()
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.Provider{Host: addrs.DefaultHost,
		Namespace: "n", Type: "a"}}}
	addr := addrs.Resource{Mode: addrs.Managed, Type: "a", Name: "b"}.InInstance(addrs.RootInstance)
	for i := range 3 {
		list := deps
		if i == 2 {
			list = deps[:99] // shares memory with the other list
		}
		state.SetCurrent(addr.Instance(addrs.IntKey(i)), &states.Object{Attrs: []byte(`{}`), Dependencies: list}, provider)
	}
	for _, indent := range []bool{false, true} {
		text, err := Encode(&File{State: state}, &Options{Indent: indent})
		if err != nil {
			t.Fatal(err)
		}
		read, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list := func(i int) []addrs.ConfigResource {
			return read.State.Instance(addr.Instance(addrs.IntKey(i))).Current.Dependencies
		}
		if len(list(0)) != 100 || len(list(2)) != 99 || list(2)[98] != deps[98] {
			t.Errorf("got lists of %d and %d", len(list(0)), len(list(2)))
		}
		if &list(0)[0] != &list(1)[0] {
			t.Error("equal lists are not shared")
		}
	}
}
