package postgres_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend/postgres"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/testenv/encryptiontest"
	"tofu/internal/tfdiags"
)

// TestMend damages rows. It checks that errors name them, that outputs can still be read, and that
// the repair restores the latest readable versions.
func TestMend(t *testing.T) {
	for name, target := range map[string]string{"plain": "", "encrypted": keyA} {
		t.Run(name, func(t *testing.T) {
			c := config(t)
			t.Chdir(t.TempDir()) // the damaged parts are written to the working directory
			open := func() *statemgr.Manager {
				if target == "" {
					return manager(t, open(t, c))
				}
				return encryptedWith(t, c, target)
			}
			m := open()
			read(t, m)
			save := func(change func(*states.State)) {
				st := m.Current().Clone()
				change(st)
				if err := m.Save(t.Context(), st); err != nil {
					t.Fatal(err)
				}
			}
			save(func(st *states.State) {
				st.SetCurrent(addr("a", 0), object("first"), provider)
				st.SetCurrent(addr("a", 1), object("first"), provider)
				st.SetCurrent(addr("alone", 0), object("only"), provider)
				st.SetOutput("o", &states.Output{Value: cty.StringVal("first")})
			})
			save(func(st *states.State) { st.SetCurrent(addr("a", 0), object("second"), provider) })
			save(func(st *states.State) {
				st.SetCurrent(addr("a", 0), object("third"), provider)
				st.SetOutput("o", &states.Output{Value: cty.StringVal("second")})
			})
			damage := func(table, where string) {
				execute(t, "UPDATE "+table+" SET document = left(document, length(document) - 3) WHERE "+where)
			}
			damage(table(c, "object"), "address = 'lab_object.a[0]'")
			if _, err := open().Read(t.Context(), tfdiags.Drop); err == nil ||
				!strings.Contains(err.Error(), "bject lab_object.a[0]: ") {
				t.Errorf("reading: %v", err)
			}
			if snap, err := open().ReadOutputs(t.Context(), tfdiags.Drop); err != nil ||
				snap.State.Output("o").Value.AsString() != "second" {
				t.Errorf("reading outputs: %v", err)
			}
			damage(table(c, "object"), "address = 'lab_object.alone[0]'")
			damage(table(c, "output"), "name = 'o'")
			damage(table(c, "object_history"), "address = 'lab_object.a[0]' AND since = 2") // the second version
			if _, err := open().ReadOutputs(t.Context(), tfdiags.Drop); err == nil ||
				!strings.Contains(err.Error(), "utput o: ") {
				t.Errorf("reading outputs: %v", err)
			}

			m = open()
			r, err := m.Examine(t.Context())
			if err != nil || r == nil {
				t.Fatal(r, err)
			}
			findings := strings.Join(r.Findings, "\n")
			for _, want := range []string{"object lab_object.a[0]: ", "object lab_object.alone[0]: ", "output o: ",
				"it is removed from the state", "takes its place", "this record is removed"} {
				if !strings.Contains(findings, want) {
					t.Errorf("no %q in the findings:\n%s", want, findings)
				}
			}
			run := newStore(t, c).NewRun(ws, nil, statemgr.NewLockInfo("apply"))
			before := &statemgr.Snapshot{State: states.New(), Revision: 3}
			if err := run.Claim(t.Context(), footprintOf(before, addr("x", 0))); err != nil {
				t.Fatal(err)
			}
			if _, err := m.WriteRepair(t.Context(), r); !errors.As(err, new(tfdiags.Diagnostic)) {
				t.Errorf("during a run: %v", err)
			}
			if err := run.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			kept, err := m.WriteRepair(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(kept); err != nil || !strings.Contains(string(text), "lab_object.alone") {
				t.Errorf("kept as %s: %v", kept, err)
			}

			want := states.New()
			want.SetCurrent(addr("a", 0), object("first"), provider)
			want.SetCurrent(addr("a", 1), object("first"), provider)
			want.SetOutput("o", &states.Output{Value: cty.StringVal("first")})
			m = open()
			if snap := read(t, m); !statefile.Equal(snap.State, want) {
				t.Error("the repaired state is different")
			}
			if r, err := m.Examine(t.Context()); r != nil || err != nil {
				t.Errorf("afterwards: %v, %v", r, err)
			}
			for sql, want := range map[string]string{
				"SELECT operation FROM run JOIN revision v ON v.run = run.id ORDER BY v.id DESC LIMIT 1": "state-repair",
				"SELECT count(*) FROM resource":                "1",
				"SELECT max(since) FROM key_set":               "4",
				"SELECT count(*) FROM run WHERE ended IS NULL": "0",
			} {
				if got := query(t, c, sql); got != want {
					t.Errorf("%s: %s, want %s", sql, got, want)
				}
			}
			// The next change works, and the restored version has replaced the damaged one in the
			// history.
			save(func(st *states.State) { st.SetCurrent(addr("a", 0), object("fourth"), provider) })
			past, err := newStore(t, c).LoadStateAt(t.Context(), ws, &statemgr.Moment{Revision: 3}, codecOf(t, target))
			if err != nil || !strings.Contains(string(past.State.Instance(addr("a", 0)).Current.Attrs), "first") {
				t.Errorf("the state at a time between: %v", err)
			}
		})
	}
}

func newStore(t *testing.T, c *postgres.Config) *postgres.Store { return open(t, c) }

func codecOf(t *testing.T, target string) statemgr.Codec {
	if target == "" {
		return nil
	}
	return encryptiontest.State(t, target)
}

// TestMissingKey checks that a state whose key is missing is not mistaken for a damaged one.
func TestMissingKey(t *testing.T) {
	c := config(t)
	m := encryptedWith(t, c, keyA)
	read(t, m)
	st := states.New()
	st.SetCurrent(addr("a", 0), object("x"), provider)
	if err := m.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	if r, err := encryptedWith(t, c, keyB).Examine(t.Context()); r != nil || err == nil {
		t.Errorf("%v, %v", r, err)
	}
	if r, err := manager(t, open(t, c)).Examine(t.Context()); r != nil || err == nil {
		t.Errorf("without encryption: %v, %v", r, err)
	}
}
