package statemgr_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tofu/internal/addrs"
	"tofu/internal/backend/inmem"
	"tofu/internal/backend/local"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

func TestReplay(t *testing.T) {
	for _, test := range []struct {
		name        string
		before      *states.State
		run         *statemgr.Run
		record      func(m *statemgr.Manager)
		want        *states.State
		interrupted []string
	}{
		{name: "creations", record: func(m *statemgr.Manager) {
			m.Started(creating(0))
			m.Started(creating(1))
			m.Stored(addr(0), addrs.NotDeposed, object("x"), provider)
			m.Started(creating(2))
			m.Ended(addr(2), addrs.NotDeposed) // failed and stored nothing
		}, want: state("x"), interrupted: []string{"lab_object.a[1] create"}},
		{name: "update and deletion", before: state("x", "y"), record: func(m *statemgr.Manager) {
			m.Started(statemgr.Operation{Addr: addr(0), Action: plans.Update, Provider: provider,
				Planned: creating(0).Planned})
			m.Stored(addr(0), addrs.NotDeposed, object("x2"), provider)
			m.Ended(addr(0), addrs.NotDeposed)
			m.Started(statemgr.Operation{Addr: addr(1), Action: plans.Delete, Provider: provider})
			m.Stored(addr(1), addrs.NotDeposed, nil, provider)
		}, want: state("x2")},
		{name: "replacement with a deposed object", before: state("x"), record: func(m *statemgr.Manager) {
			m.Moved(addr(0), addrs.NotDeposed, "00000001", object("x"), provider)
			m.Started(creating(0))
			m.Stored(addr(0), addrs.NotDeposed, object("z"), provider)
			m.Started(statemgr.Operation{Addr: addr(0), Deposed: "00000001", Action: plans.Delete, Provider: provider})
		}, want: func() *states.State {
			s := state("z")
			s.SetDeposed(addr(0), "00000001", object("x"), provider)
			return s
		}(), interrupted: []string{"lab_object.a[0]00000001 delete"}},
		{name: "deleted current object and a deposed one", before: state("x"), record: func(m *statemgr.Manager) {
			m.Stored(addr(0), "00000001", object("x"), provider)
			m.Stored(addr(0), addrs.NotDeposed, nil, addrs.ProviderInstance{})
		}, want: func() *states.State {
			s := states.New()
			s.SetDeposed(addr(0), "00000001", object("x"), provider)
			return s
		}()},
		{name: "deposed and restored", before: state("x"), record: func(m *statemgr.Manager) {
			m.Moved(addr(0), addrs.NotDeposed, "00000001", object("x"), provider)
			m.Moved(addr(0), "00000001", addrs.NotDeposed, object("x"), provider)
		}, want: state("x")},
		{name: "moved before the first change", before: state("x"), run: &statemgr.Run{State: func() *states.State {
			s := states.New()
			s.SetCurrent(addr(7), object("x"), provider)
			return s
		}()}, record: func(m *statemgr.Manager) {
			m.Stored(addr(8), addrs.NotDeposed, object("new"), provider)
		}, want: func() *states.State {
			s := states.New()
			s.SetCurrent(addr(7), object("x"), provider)
			s.SetCurrent(addr(8), object("new"), provider)
			return s
		}()},
		{name: "steps of built-in providers are not recorded", before: state("x"), record: func(m *statemgr.Manager) {
			op := creating(1)
			op.Builtin = true
			m.Started(op)
			m.Stored(addr(2), addrs.NotDeposed, object("y"), provider)
			m.Stored(addr(2), addrs.NotDeposed, nil, provider)
		}, want: state("x")},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := setup(t, test.before)
			begin(t, m, test.run)
			test.record(m)
			crash(t)
			check(t, m.Unlock())

			m = open(t)
			snap, diags := read(t, m)
			sameState(t, snap.State, test.want)
			var got []string
			for _, op := range snap.Interrupted {
				got = append(got, op.Addr.String()+string(op.Deposed)+" "+op.Action.String())
			}
			if diff := cmp.Diff(test.interrupted, got); diff != "" {
				t.Error(diff)
			}
			if len(got) > 0 && !strings.Contains(diags.AsWarnings()[len(diags)-1].Detail, "\n  lab_object.a[") {
				t.Errorf("the interrupted steps are not reported: %v", diags)
			}
			// The next run saves the state and removes the journal.
			begin(t, m, nil)
			check(t, m.Save(t.Context(), snap.State))
			check(t, m.Unlock())
			final, diags := read(t, open(t))
			sameState(t, final.State, test.want)
			creations := slices.DeleteFunc(got, func(step string) bool { return !strings.HasSuffix(step, " create") })
			if len(diags) != len(creations) || len(final.Interrupted) != len(creations) {
				t.Errorf("reported later: %v", diags)
			}
			if slices.Contains(names(t), "terraform.tfstate.journal") {
				t.Error("the journal was not removed")
			}
		})
	}
}

func TestReportHidesSecrets(t *testing.T) {
	m := setup(t, nil)
	begin(t, m, nil)
	m.Started(creating(3))
	if info, err := os.Stat("terraform.tfstate.journal"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("journal: %v, %v", info.Mode(), err)
	}
	crash(t)
	check(t, m.Unlock())
	snap, diags := read(t, open(t))
	if len(diags) != 1 || len(snap.Interrupted) != 1 {
		t.Fatal(diags)
	}
	text := diags[0].Detail
	if !strings.Contains(text, `planned {"name":"n3","password":"(sensitive)"}`) || strings.Contains(text, "hunter2") {
		t.Error(text)
	}
	if planned := snap.Interrupted[0].Planned; !planned.RawEquals(creating(3).Planned) {
		t.Errorf("planned %#v", planned)
	}
}

// TestInterruptedStepsAreKept checks that interrupted steps are reported until a run ends
// successfully.
func TestInterruptedStepsAreKept(t *testing.T) {
	m := setup(t, state("x"))
	begin(t, m, nil)
	m.Started(creating(1))
	m.Stored(addr(2), addrs.NotDeposed, object("y"), provider)
	crash(t)
	check(t, m.Unlock())
	m = open(t)
	begin(t, m, nil)
	check(t, m.Unlock()) // ended without saving
	snap, _ := read(t, open(t))
	if len(snap.Interrupted) != 1 || snap.Serial != 6 {
		t.Fatalf("%+v", snap)
	}
	m = open(t)
	begin(t, m, nil)
	m.Started(creating(1))
	m.Stored(addr(1), addrs.NotDeposed, object("z"), provider)
	crash(t)
	check(t, m.Unlock())
	snap, _ = read(t, open(t))
	if len(snap.Interrupted) != 0 {
		t.Errorf("still reported after a later run stored the object: %+v", snap.Interrupted)
	}
}

func TestRunInProgress(t *testing.T) {
	m := setup(t, state("x"))
	begin(t, m, nil)
	m.Stored(addr(1), addrs.NotDeposed, object("y"), provider)
	snap, diags := read(t, open(t))
	sameState(t, snap.State, state("x"))
	if len(diags) > 0 {
		t.Error(diags)
	}
	other := open(t)
	read(t, other)
	if err := other.Begin(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "still in progress") {
		t.Errorf("a second run at the same time: %v", err)
	}
	check(t, m.Save(t.Context(), state("x", "y")))
	check(t, m.Unlock())
}

// TestConcurrentReaders checks that concurrent readers do not mistake each other for a run in
// progress.
func TestConcurrentReaders(t *testing.T) {
	m := setup(t, state("x"))
	begin(t, m, nil)
	m.Stored(addr(1), addrs.NotDeposed, object("y"), provider)
	crash(t)
	check(t, m.Unlock())
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for range 50 {
				snap, err := open(t).Read(t.Context(), tfdiags.Drop)
				if err != nil || snap.State.Instance(addr(1)) == nil {
					t.Errorf("the journal was not replayed: %v", err)
					return
				}
			}
		})
	}
	readers.Wait()
}

// TestLongNames checks that WriteRepair reports a file name that is too long.
func TestLongNames(t *testing.T) {
	t.Chdir(t.TempDir())
	name := strings.Repeat("x", 246)
	if err := os.WriteFile(name, []byte(`{"version":4,"serial":1,"lineage":"l","resources":[`), 0o600); err != nil {
		t.Fatal(err)
	}
	m := statemgr.Open(local.New(nil, &local.Options{State: name}), ws, nil)
	r, err := m.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := m.WriteRepair(t.Context(), r); err == nil ||
		!strings.Contains(err.Error(), "saving a copy of the damaged state") {
		t.Errorf("kept as %q: %v", kept, err)
	}
}

func TestStateWrittenByAnotherRun(t *testing.T) {
	m := setup(t, state("x"))
	begin(t, m, nil)
	m.Stored(addr(1), addrs.NotDeposed, object("y"), provider)
	crash(t)
	check(t, m.Unlock())
	writeState(t, state("other"), 6)
	m = open(t)
	snap, diags := read(t, m)
	sameState(t, snap.State, state("other"))
	if len(diags) != 1 || diags[0].Summary != "An interrupted run can't be recovered" {
		t.Error(diags)
	}
	begin(t, m, nil)
	check(t, m.Save(t.Context(), state("other", "more")))
	check(t, m.Unlock())
	if diff := cmp.Diff([]string{"terraform.tfstate", "terraform.tfstate.backup", "terraform.tfstate.journal.unused-1"},
		names(t)); diff != "" {
		t.Error(diff)
	}

	// A journal without changes is ignored.
	writeState(t, state("x", "y"), 9)
	if err := os.Rename("terraform.tfstate.journal.unused-1", "terraform.tfstate.journal"); err != nil {
		t.Fatal(err)
	}
	if _, diags := read(t, open(t)); len(diags) > 0 {
		t.Error(diags)
	}
}

// TestJournalNames checks that each workspace has its own journal, whatever its name.
func TestJournalNames(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]bool{}
	for _, workspace := range []string{"dev", "Dev", "a:b", "a/b", "..", strings.Repeat("x", 300),
		strings.Repeat("x", 299) + "y"} {
		m := statemgr.Open(new(inmem.Store), workspace, &statemgr.Options{StoreID: "inmem", DataDir: dir})
		begin(t, m, nil)
		journals, err := os.ReadDir(filepath.Join(dir, "journal"))
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range journals {
			seen[strings.ToLower(j.Name())] = true
		}
		check(t, m.Save(t.Context(), states.New()))
		check(t, m.Unlock())
	}
	if len(seen) != 7 {
		t.Errorf("%d journals for seven workspaces", len(seen))
	}
}

func TestStateCommandAfterCrash(t *testing.T) {
	m := setup(t, state("x"))
	begin(t, m, nil)
	m.Stored(addr(1), addrs.NotDeposed, object("y"), provider)
	crash(t)
	check(t, m.Unlock())
	m = open(t)
	snap, _ := read(t, m)
	changed := snap.State.Clone()
	changed.Forget(addr(0))
	check(t, m.Save(t.Context(), changed))
	if diff := cmp.Diff([]string{"terraform.tfstate", "terraform.tfstate.backup"}, names(t)); diff != "" {
		t.Error(diff)
	}
	after, diags := read(t, open(t))
	sameState(t, after.State, changed)
	if after.Serial <= snap.Serial || len(diags) > 0 {
		t.Errorf("serial %d after %d; %v", after.Serial, snap.Serial, diags)
	}
}

func TestInvalidJournal(t *testing.T) {
	for content, want := range map[string]string{
		"not a journal\n": "is not a journal that this version can read",
		"{}\n":            "is not a journal that this version can read",
		`{"kind":"begin","header":{"journal":1},"serial":5}` + "\n" + `{"kind":"store","addr":"???"}` +
			"\n": `reading the journal: ???`,
	} {
		setup(t, state("x"))
		if err := os.WriteFile("terraform.tfstate.journal", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t).Read(t.Context(), tfdiags.Drop); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestTornJournal(t *testing.T) {
	m := setup(t, state("x"))
	begin(t, m, nil)
	m.Stored(addr(1), addrs.NotDeposed, object("y"), provider)
	m.Stored(addr(2), addrs.NotDeposed, object("z"), provider)
	crash(t)
	check(t, m.Unlock())
	whole, err := os.ReadFile("terraform.tfstate.journal")
	if err != nil {
		t.Fatal(err)
	}
	whole = bytes.TrimRight(whole, "\x00")
	header := strings.IndexByte(string(whole), '\n') + 1
	for n := header; n <= len(whole); n++ {
		torn := whole[:n:n]
		if n%2 == 1 {
			torn = append(torn, make([]byte, 3000)...) // reserved space
		}
		if err := os.WriteFile("terraform.tfstate.journal", torn, 0o600); err != nil {
			t.Fatal(err)
		}
		snap, diags := read(t, open(t))
		want := 1 + strings.Count(string(whole[header:n]), "\n")
		if n < len(whole) && whole[n] == '\n' {
			want++ // only the end of the line is missing
		}
		if got := len(ids(snap.State)); got != want {
			t.Fatalf("%d bytes: %d objects, want %d; %v", n, got, want, diags)
		}
	}
	damaged := strings.Replace(string(whole), `"kind":"store"`, "\x00\x00\x00\x00", 1)
	if err := os.WriteFile("terraform.tfstate.journal", []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, diags := read(t, open(t)); len(diags) != 2 || diags[1].Summary != "Damaged journal" {
		t.Error(diags)
	}
}
