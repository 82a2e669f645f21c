package postgres_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tofu/internal/addrs"
	"tofu/internal/backend/postgres"
	"tofu/internal/encryption/encryptiontest"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statemgr"
)

// TestTurnover checks which objects are recorded as created or destroyed after updates, moves, a
// replacement, a new key and a push.
func TestTurnover(t *testing.T) {
	c := config(t)
	s := open(t, c)
	m := manager(t, s)
	read(t, m)
	st := states.New()
	for _, name := range []string{"destroyed", "removed", "replaced", "again"} {
		st.SetCurrent(addr(name, 0), object(name+"-1"), provider)
	}
	save := func(m *statemgr.Manager, change func(*states.State)) {
		t.Helper()
		next := m.Current().Clone()
		change(next)
		if err := m.Save(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	then, err := s.Moment(t.Context(), ws, runs(t, s)[0])
	if err != nil {
		t.Fatal(err)
	}

	m = manager(t, s)
	if err := m.Lock(t.Context(), "OperationTypeApply", 0, nil); err != nil {
		t.Fatal(err)
	}
	snap := read(t, m)
	created, moved, destroyed, replaced, again := addr("created", 0), addr("from", 0), addr("destroyed", 0),
		addr("replaced", 0), addr("again", 0)
	if err := m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, created, moved, destroyed,
		replaced, again)}); err != nil {
		t.Fatal(err)
	}
	final := snap.State.Clone()
	step := func(at addrs.AbsInstance, deposed addrs.DeposedKey, action plans.Action, obj *states.Object) {
		m.Started(statemgr.Operation{Addr: at, Deposed: deposed, Action: action, Provider: provider})
		m.Stored(at, deposed, obj, provider)
		if deposed == "" {
			final.SetCurrent(at, obj, provider)
		}
	}
	step(created, "", plans.Create, object("created-1"))
	step(moved, "", plans.Create, object("moved-1"))
	step(destroyed, "", plans.Delete, nil)
	m.Moved(replaced, "", "0a1b2c3d", object("replaced-1"), provider)
	step(replaced, "", plans.Create, object("replaced-2"))
	step(replaced, "0a1b2c3d", plans.Delete, nil)
	step(again, "", plans.Delete, nil)
	if err := errors.Join(m.Save(t.Context(), final), m.Unlock()); err != nil {
		t.Fatal(err)
	}
	m = manager(t, s)
	read(t, m)
	save(m, func(st *states.State) {
		st.SetCurrent(created, object("created-1", "other"), provider) // an update
		st.SetCurrent(moved, nil, provider)
		st.SetCurrent(addr("to", 0), object("moved-1"), provider)
		st.SetCurrent(addr("removed", 0), nil, provider)
		st.SetCurrent(addr("imported", 0), object("imported-1"), provider)
		st.SetCurrent(again, object("again-2"), provider)
	})
	save(m, func(st *states.State) { st.SetCurrent(again, nil, provider) })
	save(m, func(st *states.State) { st.SetCurrent(replaced, object("replaced-3"), provider) }) // a new ID

	want := []string{"created lab_object.created[0]", "created lab_object.to[0]", "destroyed lab_object.again[0]",
		"destroyed lab_object.destroyed[0]", "destroyed lab_object.replaced[0]"}
	compare := func(when string) {
		t.Helper()
		out, err := s.Turnover(t.Context(), ws, then)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for at := range maps.Keys(out.Created) {
			got = append(got, "created "+at.String())
		}
		for at := range maps.Keys(out.Destroyed) {
			got = append(got, "destroyed "+at.String())
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", when, diff)
		}
	}
	compare("after the runs")

	rotated := statemgr.Open(s, ws, &statemgr.Options{DataDir: t.TempDir(), WorkDir: t.TempDir(),
		Codec: encryptiontest.State(t, "method = method.aes_gcm.a\nfallback {\nmethod = method.unencrypted.open\n}")})
	read(t, rotated)
	save(rotated, func(*states.State) {})
	compare("with a new key")
}

// runs returns the IDs of the runs in the history, newest first.
func runs(t *testing.T, s *postgres.Store) []string {
	t.Helper()
	list, err := s.RunChanges(t.Context(), ws, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].Run
	}
	return out
}
