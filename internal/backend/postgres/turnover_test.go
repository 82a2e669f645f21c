package postgres_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tofu/internal/addrs"
	"tofu/internal/backend/postgres"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statemgr"
	"tofu/internal/testenv/encryptiontest"
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

// TestTurnoverOfMoved checks that an object counts as destroyed at its earlier address if a run has
// destroyed it where it was moved to since then.
func TestTurnoverOfMoved(t *testing.T) {
	s := open(t, config(t))
	module := func(text string) addrs.AbsInstance {
		at, err := addrs.ParseInstanceText(text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	a, b, c, d, e, f := addr("a", 0), addr("b", 0), addr("c", 0), addr("d", 0), addr("e", 0), addr("f", 0)
	child := module(`module.m["x"].lab_object.child`)
	m := manager(t, s)
	read(t, m)
	st := states.New()
	for _, at := range []addrs.AbsInstance{a, b, c, d, e, f} {
		st.SetCurrent(at, object("id-"+at.Resource.Name), provider)
	}
	if err := m.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	then, err := s.Moment(t.Context(), ws, runs(t, s)[0])
	if err != nil {
		t.Fatal(err)
	}
	// move moves objects at the same time, to the addresses after theirs.
	move := func(pairs ...addrs.AbsInstance) {
		t.Helper()
		m = manager(t, s)
		was := read(t, m).State
		next := was.Clone()
		for i := 0; i < len(pairs); i += 2 {
			next.SetCurrent(pairs[i], nil, provider)
		}
		for i := 0; i < len(pairs); i += 2 {
			if i+1 < len(pairs) { // otherwise, it is removed
				next.SetCurrent(pairs[i+1], was.Instance(pairs[i]).Current, provider)
			}
		}
		next.Prune()
		if err := m.Save(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	destroy := func(at addrs.AbsInstance) {
		t.Helper()
		m = manager(t, s)
		if err := m.Lock(t.Context(), "OperationTypeApply", 0, nil); err != nil {
			t.Fatal(err)
		}
		snap := read(t, m)
		if err := m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, at)}); err != nil {
			t.Fatal(err)
		}
		m.Started(statemgr.Operation{Addr: at, Action: plans.Delete, Provider: provider})
		m.Stored(at, "", nil, provider)
		final := snap.State.Clone()
		final.SetCurrent(at, nil, provider)
		final.Prune()
		if err := errors.Join(m.Save(t.Context(), final), m.Unlock()); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, want ...addrs.AbsInstance) {
		t.Helper()
		out, err := s.Turnover(t.Context(), ws, then)
		if err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(out.Destroyed, func(at addrs.AbsInstance, _ bool) bool { return st.Instance(at) == nil })
		got := slices.SortedFunc(maps.Keys(out.Destroyed), addrs.AbsInstance.Compare)
		if !slices.Equal(got, want) {
			t.Errorf("%s: destroyed: %v, want %v", when, got, want)
		}
		if len(out.Created) > 0 {
			t.Errorf("%s: created: %v", when, out.Created)
		}
	}

	g, h := addr("g", 0), addr("h", 0)
	move(a, g)
	move(g, child)
	move(child, a)
	move(a, child)
	check("moved only")
	destroy(child)
	check("moved in steps", a)
	move(b, c, c, h) // in one change, so that c has another object
	check("moved in a row", a)
	destroy(h)
	check("the second of the row", a, c)
	destroy(c)
	check("the first of the row", a, b, c)
	move(d, e, e, d)
	destroy(e)
	check("exchanged", a, b, c, d)
	move(f, g)
	move(g) // removed from the state
	check("moved and removed", a, b, c, d)
	move(d, f)
	destroy(f) // e, which was at d and took the address of f
	check("another object at the address", a, b, c, d, e)
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
