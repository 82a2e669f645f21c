package statemgr_test

import (
	"context"
	"fmt"
	"os"

	"tofu/internal/addrs"
	"tofu/internal/backend/inmem"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// This example records an operation that creates one object.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	m := statemgr.Open(new(inmem.Store), "default", &statemgr.Options{DataDir: dir, WorkDir: dir, StoreID: "example"})

	if err := m.Lock(ctx, "OperationTypeApply", 0, nil); err != nil {
		fmt.Println(err)
		return
	}
	defer m.Unlock()
	warn := func(warnings ...tfdiags.Diagnostic) { fmt.Println(warnings) }
	snap, err := m.Read(ctx, warn)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := m.Begin(ctx, nil); err != nil {
		fmt.Println(err)
		return
	}
	addr, _ := addrs.ParseInstanceText("null_resource.a")
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.DefaultProvider("null")}}
	m.Started(statemgr.Operation{Addr: addr, Action: plans.Create, Provider: provider})
	obj := &states.Object{Attrs: []byte(`{"id":"1"}`)} // the provider's result
	m.Stored(addr, addrs.NotDeposed, obj, provider)
	m.Ended(addr, addrs.NotDeposed)

	final := snap.State.Clone()
	final.SetCurrent(addr, obj, provider)
	if err := m.Save(ctx, final); err != nil {
		fmt.Println(err)
		return
	}
	snap, err = m.Read(ctx, warn)
	fmt.Println(snap.Serial, string(snap.State.Instance(addr).Current.Attrs), err)
	// Output: 1 {"id":"1"} <nil>
}
