package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend/postgres"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/testenv/encryptiontest"
)

// encoded returns a state as a state file with a fixed serial, without results of checks.
func encoded(t testing.TB, st *states.State) string {
	t.Helper()
	st = st.Clone()
	st.Checks = nil
	text, err := statefile.Encode(&statefile.File{State: st, Lineage: "x"}, &statefile.Options{Indent: true})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stateAt returns the state as of a moment.
func stateAt(t testing.TB, s *postgres.Store, text string) *statemgr.Loaded {
	t.Helper()
	m, err := s.Moment(t.Context(), ws, text)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := s.LoadStateAt(t.Context(), ws, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestPastStates(t *testing.T) {
	c := config(t)
	s := open(t, c)
	if _, err := s.Moment(t.Context(), ws, "2026-01-31"); err == nil || !strings.Contains(err.Error(), "has no state") {
		t.Errorf("no workspace: %v", err)
	}
	before := time.Now().Add(-time.Minute)
	steps := []func(){
		func() { put(t, s, ws, 1, []string{"a=1", "b=1"}, []string{"x=1", "secret=hunter2"}) },
		func() {
			if err := s.Put(t.Context(), ws, []byte(document)); err != nil {
				t.Fatal(err)
			}
		},
		func() { put(t, s, ws, 8, []string{"a=2", "c=1"}, []string{"x=2"}) },
		func() { put(t, s, ws, 9, nil, nil) },
		func() { put(t, s, ws, 10, []string{"a=2"}, nil) },
	}
	var want []string
	var times []time.Time
	for _, step := range steps {
		step()
		loaded, err := s.LoadState(t.Context(), ws, nil)
		if err != nil {
			t.Fatal(err)
		}
		loaded.State.RemoveResource(addr("empty", 0).Abs()) // resources without objects have no history
		want, times = append(want, encoded(t, loaded.State)), append(times, time.Now())
		time.Sleep(10 * time.Millisecond)
	}
	runs, err := s.RunChanges(t.Context(), ws, 0)
	if err != nil || len(runs) != len(steps) {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for i := range steps {
		run := runs[len(runs)-1-i].Run
		for _, text := range []string{run, run[:13], times[i].Format(time.RFC3339Nano)} {
			if diff := cmp.Diff(want[i], encoded(t, stateAt(t, s, text).State)); diff != "" {
				t.Errorf("step %d, at %s:\n%s", i, text, diff)
			}
		}
	}
	if loaded := stateAt(t, s, times[2].Format(time.RFC3339Nano)); loaded.Serial != 8 || loaded.Lineage != "x" {
		t.Errorf("serial %d, lineage %q", loaded.Serial, loaded.Lineage)
	}
	first, last := runs[len(runs)-1], runs[0]
	if first.Created != 4 || first.Updated != 0 || last.Created != 1 || last.Operation != "put" || last.Outcome != "done" {
		t.Errorf("runs: %+v, %+v", first, last)
	}
	if few, err := s.RunChanges(t.Context(), ws, 2); err != nil || len(few) != 2 || few[0] != runs[0] {
		t.Errorf("limited: %v, %v", few, err)
	}

	for part, want := range map[statemgr.Part]string{
		{Address: "lab_object.b"}:      "delete lab_object.b, create lab_object.b",
		{Output: "x"}:                  "delete x, create x, delete x, create x",
		{Address: `module.m["k.\"]"]`}: `delete module.m["k.\"]"].lab_object.b["é\""], create module.m["k.\"]"].lab_object.b["é\""]`,
		{Address: "data.lab_info.i"}:   "delete data.lab_info.i, create data.lab_info.i",
		{Address: "module.m"}:          `delete module.m["k.\"]"].lab_object.b["é\""], create module.m["k.\"]"].lab_object.b["é\""]`,
	} {
		changes, err := s.PartChanges(t.Context(), ws, part, 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range changes {
			got = append(got, c.Action+" "+c.Address)
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%v: %s, want %s", part, got, want)
		}
	}

	for text, want := range map[string]string{
		before.Format(time.RFC3339): "begins at",
		"zzz":                       "neither a time",
		"":                          "neither a time",
	} {
		if _, err := s.Moment(t.Context(), ws, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("moment %q: %v, want %s", text, err, want)
		}
	}
}

func TestVacuum(t *testing.T) {
	c := config(t)
	s := open(t, c)
	for i := range 4 {
		put(t, s, ws, i+1, []string{fmt.Sprint("a=", i), "b=1"}, []string{fmt.Sprint("x=", i)})
	}
	if done, err := s.Vacuum(t.Context(), ws, time.Hour); err != nil || done.Versions != 0 || !done.Since.IsZero() {
		t.Errorf("nothing is old: %+v, %v", done, err)
	}
	runs, err := s.RunChanges(t.Context(), ws, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Make the first three transactions look old.
	age := fmt.Sprintf(`SET search_path TO "%s"; UPDATE revision SET at = at - interval '2 days' WHERE id <= 3;
		UPDATE run SET ended = ended - interval '2 days' WHERE id <> '%s'`, strings.ReplaceAll(c.Schema, `"`, `""`), runs[0].Run)
	execute(t, age)
	want := encoded(t, stateAt(t, s, runs[1].Run).State)
	done, err := s.Vacuum(t.Context(), ws, 24*time.Hour)
	if err != nil || done.Versions != 4 || done.Since.IsZero() { // versions of a and x from the first two transactions
		t.Errorf("vacuum: %+v, %v", done, err)
	}
	if diff := cmp.Diff(want, encoded(t, stateAt(t, s, runs[1].Run).State)); diff != "" {
		t.Errorf("the oldest state that is kept:\n%s", diff)
	}
	if _, err := s.Moment(t.Context(), ws, runs[3].Run); err == nil || !strings.Contains(err.Error(), "begins at") {
		t.Errorf("a removed state, whose run is that of an object: %v", err)
	}
	if _, err := s.Moment(t.Context(), ws, runs[2].Run); err == nil || !strings.Contains(err.Error(), "neither a time") {
		t.Errorf("a removed run: %v", err)
	}
	if got := query(t, c, "SELECT changed_by IS NOT NULL FROM instances WHERE name = 'b'"); got != "true" {
		t.Errorf("who changed b last is unknown: %s", got)
	}
	if changes, err := s.RunChanges(t.Context(), ws, 0); err != nil || len(changes) != 1 {
		t.Errorf("changes after the start of the history: %v, %v", changes, err)
	}
	if done, err := s.Vacuum(t.Context(), "missing", time.Hour); err != nil || done.Versions != 0 {
		t.Errorf("no workspace: %+v, %v", done, err)
	}
}

// TestKeep checks that runs vacuum a workspace when a vacuum is due.
func TestKeep(t *testing.T) {
	c := config(t)
	s := open(t, c)
	put(t, s, ws, 1, []string{"a=1"}, nil)
	put(t, s, ws, 2, []string{"a=2"}, nil)
	execute(t, fmt.Sprintf(`SET search_path TO "%s"; UPDATE revision SET at = at - interval '2 days';
		UPDATE workspace SET vacuumed = vacuumed - interval '2 days'`, strings.ReplaceAll(c.Schema, `"`, `""`)))
	put(t, s, ws, 3, []string{"a=2"}, nil)
	if got := query(t, c, "SELECT count(*) FROM object_history"); got != "1" {
		t.Errorf("without keep, %s versions are left", got)
	}
	c.Keep = "1d"
	put(t, open(t, c), ws, 4, []string{"a=2"}, nil)
	if got := query(t, c, "SELECT count(*) FROM object_history"); got != "0" {
		t.Errorf("with keep, %s versions are left", got)
	}
	c.Keep = "1y"
	if _, err := postgres.Driver.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "90d") {
		t.Errorf("a bad value: %v", err)
	}
}

// TestPastEncrypted checks that earlier states are read with the keys they were encrypted with.
func TestPastEncrypted(t *testing.T) {
	c := config(t)
	s := open(t, c)
	const before, after = "method = method.aes_gcm.a", "method = method.aes_gcm.b\nfallback {\nmethod = method.aes_gcm.a\n}"
	save := func(methods, id string) string {
		m := statemgr.Open(s, ws, &statemgr.Options{DataDir: t.TempDir(), WorkDir: t.TempDir(), Codec: encryptiontest.State(t, methods)})
		st := read(t, m).State.Clone()
		st.SetCurrent(addr("a", 0), object(id), provider)
		st.SetOutput("o", &states.Output{Value: cty.StringVal(id)})
		if err := m.Save(t.Context(), st); err != nil {
			t.Fatal(err)
		}
		return encoded(t, st)
	}
	first := save(before, "clear-text")
	second := save(after, "other")
	runs, err := s.RunChanges(t.Context(), ws, 0)
	if err != nil || len(runs) != 2 {
		t.Fatalf("%v, %v", runs, err)
	}
	for i, want := range []string{second, first} {
		m, err := s.Moment(t.Context(), ws, runs[i].Run)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := s.LoadStateAt(t.Context(), ws, m, encryptiontest.State(t, after))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, encoded(t, loaded.State)); diff != "" {
			t.Error(diff)
		}
		if _, err := s.LoadStateAt(t.Context(), ws, m, nil); err == nil {
			t.Error("an encrypted state is read without a key")
		}
	}
	changes, err := s.PartChanges(t.Context(), ws, statemgr.Part{Address: "lab_object.a"}, 0)
	if err != nil || len(changes) != 2 || changes[0].After != nil || changes[0].Action != "update" {
		t.Errorf("changes: %v, %v", changes, err)
	}
}
