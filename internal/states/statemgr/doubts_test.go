package statemgr_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// TestDoubts checks which steps stay in doubt after a run has saved the state without their result,
// and what settles them.
func TestDoubts(t *testing.T) {
	with := func(s *states.State, n int) *states.State {
		s.SetCurrent(addr(n), object("new"), provider)
		return s
	}
	// what is not recorded before the state is saved
	unrecorded := map[string]bool{"imported": true, "said to be gone": true, "update": true, "deletion": true}
	update := statemgr.Operation{Addr: addr(0), Action: plans.Update, Provider: provider}
	deletion := statemgr.Operation{Addr: addr(0), Action: plans.Delete, Provider: provider}
	for _, test := range []struct {
		name  string
		open  statemgr.Operation
		later func(m *statemgr.Manager) *states.State // another run, which returns the state to save
		want  int
	}{
		{"nothing", creating(1), func(*statemgr.Manager) *states.State { return state("x") }, 1},
		{"another object", creating(1), func(m *statemgr.Manager) *states.State {
			m.Started(creating(2))
			m.Stored(addr(2), addrs.NotDeposed, object("new"), provider)
			return with(state("x"), 2)
		}, 1},
		{"failed again", creating(1), func(m *statemgr.Manager) *states.State {
			m.Started(creating(1))
			m.Ended(addr(1), addrs.NotDeposed)
			return state("x")
		}, 1},
		{"again without an answer", creating(1), func(m *statemgr.Manager) *states.State {
			m.Started(creating(1))
			return state("x")
		}, 1},
		{"created", creating(1), func(m *statemgr.Manager) *states.State {
			m.Started(creating(1))
			m.Stored(addr(1), addrs.NotDeposed, object("new"), provider)
			return with(state("x"), 1)
		}, 0},
		{"imported", creating(1), func(*statemgr.Manager) *states.State { return with(state("x"), 1) }, 0},
		{"said to be gone", creating(1), func(m *statemgr.Manager) *states.State {
			m.Gone(addr(1))
			return state("x")
		}, 0},
		{"another one said to be gone", creating(1), func(m *statemgr.Manager) *states.State {
			m.Gone(addr(2))
			return state("x")
		}, 1},
		{"replacement", creating(0), func(*statemgr.Manager) *states.State { return state("x") }, 1},
		{"replacement, old object updated", creating(0), func(m *statemgr.Manager) *states.State {
			m.Started(update)
			m.Stored(addr(0), addrs.NotDeposed, object("x2"), provider)
			return state("x2")
		}, 1},
		{"replacement, old object restored", creating(0), func(m *statemgr.Manager) *states.State {
			m.Moved(addr(0), addrs.NotDeposed, "00000001", object("x"), provider)
			m.Started(creating(0))
			m.Moved(addr(0), "00000001", addrs.NotDeposed, object("x"), provider)
			m.Ended(addr(0), addrs.NotDeposed)
			return state("x")
		}, 1},
		{"replaced", creating(0), func(m *statemgr.Manager) *states.State {
			m.Moved(addr(0), addrs.NotDeposed, "00000001", object("x"), provider)
			m.Started(creating(0))
			m.Stored(addr(0), addrs.NotDeposed, object("new"), provider)
			replaced := state("new")
			replaced.SetDeposed(addr(0), "00000001", object("x"), provider)
			return replaced
		}, 0},
		{"update", update, func(*statemgr.Manager) *states.State { return state("x") }, 0},
		{"deletion", deletion, func(*statemgr.Manager) *states.State { return state("x") }, 0},
	} {
		for _, kills := range []struct{ first, later bool }{{}, {later: true}, {first: true}, {true, true}} {
			killed := kills.later // whether the run is killed before it saves
			if killed && unrecorded[test.name] {
				continue
			}
			t.Run(fmt.Sprint(test.name, kills), func(t *testing.T) {
				m := setup(t, state("x"))
				begin(t, m, nil)
				m.Started(test.open)
				if kills.first {
					crash(t)
				} else {
					check(t, m.Save(t.Context(), state("x")))
				}
				check(t, m.Unlock())
				m = open(t)
				snap, diags := read(t, m)
				if len(snap.Interrupted) != 1 || snap.Interrupted[0].Addr != test.open.Addr || len(diags) != 1 ||
					!strings.Contains(diags[0].Detail, test.open.Addr.String()) {
					t.Fatalf("%+v %v", snap.Interrupted, diags)
				}
				begin(t, m, nil)
				final := test.later(m)
				if killed {
					crash(t)
				} else {
					check(t, m.Save(t.Context(), final))
				}
				check(t, m.Unlock())
				snap, diags = read(t, open(t))
				sameState(t, snap.State, final)
				named := slices.ContainsFunc(diags, func(d tfdiags.Diagnostic) bool {
					return d.Summary == "Interrupted operations"
				})
				if len(snap.Interrupted) != test.want || named != (test.want > 0) {
					t.Errorf("in doubt: %+v, %v", snap.Interrupted, diags)
				}
			})
		}
	}
}

// TestKilledAfterMove checks that a step in doubt whose address changes is listed once if its run is
// killed: under the new address, also after more runs.
func TestKilledAfterMove(t *testing.T) {
	move := func(from, to int) func(*states.State) *states.State {
		return func(st *states.State) *states.State {
			moved := states.New()
			for r := range st.Resources() {
				for key, inst := range r.Instances {
					a := r.Addr.Instance(key)
					if a == addr(from) {
						a = addr(to)
					}
					moved.SetCurrent(a, inst.Current, provider)
				}
			}
			return moved
		}
	}
	for name, later := range map[string]func(m *statemgr.Manager){
		"not started":   func(*statemgr.Manager) {},
		"started":       func(m *statemgr.Manager) { m.Started(creating(2)) },
		"failed":        func(m *statemgr.Manager) { m.Started(creating(2)); m.Ended(addr(2), addrs.NotDeposed) },
		"another there": func(m *statemgr.Manager) { m.Started(creating(1)); m.Ended(addr(1), addrs.NotDeposed) },
	} {
		for _, first := range []bool{false, true} { // whether the first run is killed, too
			t.Run(fmt.Sprint(name, first), func(t *testing.T) {
				m := setup(t, state("x"))
				begin(t, m, nil)
				m.Started(creating(1))
				if first {
					crash(t)
				} else {
					check(t, m.Save(t.Context(), state("x")))
				}
				check(t, m.Unlock())
				m = open(t)
				read(t, m)
				m.MoveDoubts(move(1, 2))
				check(t, m.Begin(t.Context(), nil))
				later(m)
				crash(t)
				check(t, m.Unlock())
				for at := 2; at < 4; at++ { // the second time moves it again
					m = open(t)
					snap, _ := read(t, m)
					if len(snap.Interrupted) != 1 || snap.Interrupted[0].Addr != addr(at) {
						t.Fatalf("in doubt: %+v, not %s", snap.Interrupted, addr(at))
					}
					m.MoveDoubts(move(at, at+1))
					check(t, m.Begin(t.Context(), nil))
					crash(t)
					check(t, m.Unlock())
				}
				m = open(t)
				read(t, m)
				m.Gone(addr(4))
				check(t, m.Save(t.Context(), state("x")))
				if snap, _ := read(t, open(t)); len(snap.Interrupted) != 0 {
					t.Errorf("in doubt: %+v", snap.Interrupted)
				}
			})
		}
	}
}

// TestDoubtsMove checks that steps in doubt are copied and kept with the state.
func TestDoubtsMove(t *testing.T) {
	m := setup(t, state("x"))
	begin(t, m, nil)
	m.Started(creating(1))
	check(t, m.Save(t.Context(), state("x")))
	check(t, m.Unlock())
	snap, _ := read(t, open(t))
	text, err := statefile.Encode(snap.File(), nil)
	check(t, err)
	copied, err := statefile.Parse(text)
	check(t, err)

	t.Chdir(t.TempDir())
	m = setup(t, state("x", "y"))
	begin(t, m, nil)
	m.Started(creating(2))
	check(t, m.Save(t.Context(), state("x", "y")))
	check(t, m.Push(t.Context(), copied, true))
	check(t, m.Unlock())
	snap, _ = read(t, open(t))
	sameState(t, snap.State, state("x"))
	if len(snap.Interrupted) != 2 || snap.Interrupted[0].Addr != addr(1) || snap.Interrupted[1].Addr != addr(2) ||
		!snap.Interrupted[0].Planned.RawEquals(creating(1).Planned) {
		t.Errorf("%+v", snap.Interrupted)
	}
}
