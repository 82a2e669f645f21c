package statefile

import (
	"fmt"
	"slices"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// TestSharedDependencyLists checks that objects with the same dependencies share one list after
// parsing.
func TestSharedDependencyLists(t *testing.T) {
	var deps []addrs.ConfigResource
	for i := range 100 {
		deps = append(deps, addrs.Resource{Mode: addrs.Managed, Type: "a", Name: fmt.Sprintf("d%02d", i)}.In(""))
	}
	all, fewer := states.NewDependencies(slices.Clone(deps)), states.NewDependencies(deps[:99])
	state := states.New()
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.Provider{Host: addrs.DefaultHost,
		Namespace: "n", Type: "a"}}}
	addr := addrs.Resource{Mode: addrs.Managed, Type: "a", Name: "b"}.InInstance(addrs.RootInstance)
	for i := range 3 {
		set := all
		if i == 2 {
			set = fewer
		}
		state.SetCurrent(addr.Instance(addrs.IntKey(i)),
			&states.Object{Attrs: []byte(`{}`), Dependencies: set}, provider)
	}
	for _, indent := range []bool{false, true} {
		text, err := Encode(&File{State: state}, &Options{Indent: indent})
		if err != nil {
			t.Fatal(err)
		}
		file, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		read := func(i int) *states.Dependencies {
			return file.State.Instance(addr.Instance(addrs.IntKey(i))).Current.Dependencies
		}
		if !read(0).Equal(all) || !read(2).Equal(fewer) {
			t.Errorf("got sets of %d and %d", read(0).Len(), read(2).Len())
		}
		if read(0) != read(1) {
			t.Error("equal sets are not shared")
		}
	}
}
