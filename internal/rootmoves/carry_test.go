package rootmoves

import (
	"fmt"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/backend/inmem"
	"tofu/internal/moves"
	"tofu/internal/states"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// TestFinish interrupts a move after each of its writes, finishes it from either side, and checks that the object
// is in exactly one state and that no records are left. It does the same after another program has written the
// state of the target without its records.
func TestFinish(t *testing.T) {
	for writes := range 6 {
		for _, fromSource := range []bool{true, false} {
			for _, foreign := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d writes, from the source %v, foreign %v", writes, fromSource, foreign), func(t *testing.T) {
					finishAfter(t, writes, fromSource, foreign)
				})
			}
		}
	}
}

func finishAfter(t *testing.T, writes int, fromSource, foreign bool) {
	store := new(inmem.Store)
	open := func(name string) *statemgr.Manager {
		m := statemgr.Open(store, name, &statemgr.Options{DataDir: t.TempDir()})
		if _, err := m.Read(t.Context(), tfdiags.Drop); err != nil {
			t.Fatal(err)
		}
		return m
	}
	source, target := open("source"), open("target")
	before, empty := states.New(), states.New()
	before.SetCurrent(instance("a"), &states.Object{Attrs: []byte(`{"id":"1"}`)}, provider())
	before.SetCurrent(instance("rest"), &states.Object{Attrs: []byte(`{"id":"2"}`)}, provider())
	if err := source.Save(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	left, arrived := before.Clone(), empty.Clone()
	pair := moves.Pair{From: resource("a"), To: resource("b")}
	if _, err := moves.Transfer(left, arrived, []moves.Pair{pair}); err != nil {
		t.Fatal(err)
	}
	save := func(m *statemgr.Manager, st *states.State, phase statemgr.MovingPhase, objects []statemgr.ObjectOnTheWay) {
		recorded := records{"id": nil}
		if phase != "" {
			var err error
			if recorded, err = (records{}).add("id", objects, phase, statemgr.Peer{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.SaveMoving(t.Context(), st, recorded); err != nil {
			t.Fatal(err)
		}
	}
	leave, arrive := statemgr.Between(before, left), statemgr.Between(arrived, empty)
	for i, step := range []func(){
		func() { save(target, empty, statemgr.Arriving, arrive) },
		func() { save(source, left, statemgr.Leaving, leave) },
		func() { save(target, arrived, statemgr.Arrived, arrive) },
		func() { save(source, left, "", nil) },
		func() { save(target, arrived, "", nil) },
	} {
		if i < writes {
			step()
		}
	}
	if foreign {
		save(target, target.Current(), "", nil)
	}
	here, there := open("target"), open("source")
	if fromSource {
		here, there = there, here
	}
	for range 2 { // from one side and, for what only the other side records, from the other
		if _, err := finish(t.Context(), here, there); err != nil {
			t.Fatal(err)
		}
		here, there = there, here
	}
	source, target = open("source"), open("target")
	has := func(m *statemgr.Manager, name string) bool { return m.Current().Instance(instance(name)) != nil }
	moved := writes >= 2 && (!foreign || writes >= 3)
	if has(source, "a") == moved || has(target, "b") != moved || !has(source, "rest") {
		t.Errorf("the source has the object: %v, the target: %v; moved: %v", has(source, "a"), has(target, "b"), moved)
	}
	if n := len(source.Moving()) + len(target.Moving()); n > 0 {
		t.Errorf("%d records are left", n)
	}
}

func instance(name string) addrs.AbsInstance {
	addr, err := addrs.ParseInstanceText("x_thing." + name)
	if err != nil {
		panic(err)
	}
	return addr
}

func resource(name string) addrs.Target {
	t, err := addrs.ParseTargetText("x_thing." + name)
	if err != nil {
		panic(err)
	}
	return t
}

func provider() addrs.ProviderInstance {
	p, err := addrs.ParseProviderInstanceText(`provider["example.com/x/x"]`)
	if err != nil {
		panic(err)
	}
	return p
}
