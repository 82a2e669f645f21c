package states_test

import (
	"fmt"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

func ExampleState() {
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.DefaultProvider("null")}}
	a, _ := addrs.ParseInstanceText(`module.m["x"].null_resource.a[0]`)
	b, _ := addrs.ParseInstanceText(`null_resource.b`)

	st := states.New()
	st.SetCurrent(a, &states.Object{Attrs: []byte(`{"id":"1"}`)}, provider)
	st.SetCurrent(b, &states.Object{Attrs: []byte(`{"id":"2"}`)}, provider)

	// The copy shares the objects, which are immutable.
	before := st.Clone()
	st.SetCurrent(a, nil, provider)
	st.Prune()

	target, _ := addrs.ParseTargetText("module.m")
	fmt.Println(before.Select([]addrs.Target{target}), len(st.Select([]addrs.Target{target})))
	fmt.Println(string(st.Instance(b).Current.Attrs))
	// Output:
	// [module.m["x"].null_resource.a[0]] 0
	// {"id":"2"}
}
