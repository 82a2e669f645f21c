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
)

// An operation that creates one object.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	m := statemgr.Open(new(inmem.Store), "default", &statemgr.Options{DataDir: dir, WorkDir: dir, StoreID: "example"})

	diags := m.Lock(ctx, "OperationTypeApply", 0, nil)
	if diags.HasErrors() {
		fmt.Println(diags.Err())
		return
	}
	defer m.Unlock()
	snap, diags := m.Read(ctx)
	if diags.HasErrors() {
		fmt.Println(diags.Err())
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
	if diags := m.Save(ctx, final); diags.HasErrors() {
		fmt.Println(diags.Err())
		return
	}
	snap, diags = m.Read(ctx)
	fmt.Println(snap.Serial, string(snap.State.Instance(addr).Current.Attrs), diags.HasErrors())
	// Output: 1 {"id":"1"} false
}
