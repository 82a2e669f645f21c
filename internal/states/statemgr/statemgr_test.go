package statemgr_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/backend/inmem"
	"tofu/internal/backend/local"
	"tofu/internal/encryption"
	"tofu/internal/encryption/all"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

const ws = backend.DefaultWorkspace

var provider = addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.DefaultProvider("lab")}}

func addr(n int) addrs.AbsInstance {
	return addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "lab_object", Name: "a"}, Key: addrs.IntKey(n)}
}

func object(id string) *states.Object {
	return &states.Object{Attrs: fmt.Appendf(nil, `{"id":%q}`, id), Private: []byte("p"), SensitivePaths: []cty.Path{cty.GetAttrPath("id")}}
}

func state(ids ...string) *states.State {
	s := states.New()
	for i, id := range ids {
		s.SetCurrent(addr(i), object(id), provider)
	}
	return s
}

func creating(n int) statemgr.Operation {
	return statemgr.Operation{Addr: addr(n), Action: plans.Create, Provider: provider, Planned: cty.ObjectVal(map[string]cty.Value{
		"id": cty.UnknownVal(cty.String), "name": cty.StringVal(fmt.Sprint("n", n)), "password": cty.StringVal("hunter2").Mark(marks.Sensitive),
	})}
}

// setup gives a manager of a local state in a new working directory.
func setup(t *testing.T, before *states.State) *statemgr.Manager {
	t.Helper()
	t.Chdir(t.TempDir())
	if before != nil {
		writeState(t, before, 5)
	}
	return open(t)
}

func writeState(t *testing.T, s *states.State, serial uint64) {
	t.Helper()
	data, err := statefile.Encode(&statefile.File{State: s, Serial: serial, Lineage: "l"}, &statefile.Options{Indent: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("terraform.tfstate", data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) *statemgr.Manager {
	t.Helper()
	return statemgr.Open(local.New(nil, nil), ws, nil)
}

func read(t *testing.T, m *statemgr.Manager) (*statemgr.Snapshot, tfdiags.Diagnostics) {
	t.Helper()
	snap, diags := m.Read(t.Context())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return snap, diags
}

func begin(t *testing.T, m *statemgr.Manager, run *statemgr.Run) {
	t.Helper()
	if diags := m.Lock(t.Context(), "OperationTypeApply", 0, nil); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	read(t, m)
	if err := m.Begin(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, diags tfdiags.Diagnostics) {
	t.Helper()
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
}

// crash leaves the working directory for a copy of it as it is now: to what is opened there, the process that wrote it is gone.
func crash(t *testing.T) {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(to)
}

func ids(s *states.State) []string {
	var out []string
	for r := range s.Resources() {
		for key, inst := range r.Instances {
			if inst.Current != nil {
				out = append(out, r.Addr.Resource.Name+key.String()+"="+string(inst.Current.Attrs))
			}
			for deposed, obj := range inst.Deposed {
				out = append(out, r.Addr.Resource.Name+key.String()+"/"+string(deposed)+"="+string(obj.Attrs))
			}
		}
	}
	slices.Sort(out)
	return out
}

func sameState(t *testing.T, got, want *states.State) {
	t.Helper()
	if !statefile.Equal(got, want) {
		t.Errorf("got state %q, want %q", ids(got), ids(want))
	}
}

func names(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFirstRun(t *testing.T) {
	m := setup(t, nil)
	begin(t, m, nil)
	m.Started(creating(0))
	m.Stored(addr(0), addrs.NotDeposed, object("x"), provider)
	m.Ended(addr(0), addrs.NotDeposed)
	check(t, m.Save(t.Context(), state("x")))
	check(t, m.Unlock())
	if diff := cmp.Diff([]string{"terraform.tfstate"}, names(t)); diff != "" {
		t.Error(diff)
	}
	snap, _ := read(t, open(t))
	sameState(t, snap.State, state("x"))
	if snap.Serial != 1 || snap.Lineage == "" || !snap.Exists {
		t.Errorf("%+v", snap)
	}
}

func TestNothingChanged(t *testing.T) {
	m := setup(t, state("x"))
	before, _ := os.ReadFile("terraform.tfstate")
	begin(t, m, nil)
	check(t, m.Save(t.Context(), state("x")))
	check(t, m.Unlock())
	after, _ := os.ReadFile("terraform.tfstate")
	if string(before) != string(after) {
		t.Error("a run without changes wrote the state")
	}
	if diff := cmp.Diff([]string{"terraform.tfstate"}, names(t)); diff != "" {
		t.Error(diff)
	}
}

func TestAFirstEmptyStateIsWritten(t *testing.T) {
	m := setup(t, nil)
	begin(t, m, nil)
	check(t, m.Save(t.Context(), states.New()))
	check(t, m.Unlock())
	if snap, _ := read(t, open(t)); snap.Serial != 1 || !snap.Exists {
		t.Errorf("%+v", snap)
	}
}

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
			m.Started(statemgr.Operation{Addr: addr(0), Action: plans.Update, Provider: provider, Planned: creating(0).Planned})
			m.Stored(addr(0), addrs.NotDeposed, object("x2"), provider)
			m.Ended(addr(0), addrs.NotDeposed)
			m.Started(statemgr.Operation{Addr: addr(1), Action: plans.Delete, Provider: provider})
			m.Stored(addr(1), addrs.NotDeposed, nil, provider)
		}, want: state("x2")},
		{name: "replacement with a deposed object", before: state("x"), record: func(m *statemgr.Manager) {
			m.Stored(addr(0), "00000001", object("x"), provider)
			m.Stored(addr(0), addrs.NotDeposed, nil, provider)
			m.Started(creating(0))
			m.Stored(addr(0), addrs.NotDeposed, object("z"), provider)
			m.Started(statemgr.Operation{Addr: addr(0), Deposed: "00000001", Action: plans.Delete, Provider: provider})
		}, want: func() *states.State {
			s := state("z")
			s.SetDeposed(addr(0), "00000001", object("x"), provider)
			return s
		}(), interrupted: []string{"lab_object.a[0]00000001 delete"}},
		{name: "gone current object beside a deposed one", before: state("x"), record: func(m *statemgr.Manager) {
			m.Stored(addr(0), "00000001", object("x"), provider)
			m.Stored(addr(0), addrs.NotDeposed, nil, addrs.ProviderInstance{})
		}, want: func() *states.State {
			s := states.New()
			s.SetDeposed(addr(0), "00000001", object("x"), provider)
			return s
		}()},
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
		{name: "built-in steps aren't recorded", before: state("x"), record: func(m *statemgr.Manager) {
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
				t.Errorf("no word of what was interrupted: %v", diags)
			}
			// The next run saves it, and after that the journal is gone.
			begin(t, m, nil)
			check(t, m.Save(t.Context(), snap.State))
			check(t, m.Unlock())
			final, diags := read(t, open(t))
			sameState(t, final.State, test.want)
			if len(diags) > 0 || len(final.Interrupted) > 0 {
				t.Errorf("still reported: %v", diags)
			}
			if slices.Contains(names(t), "terraform.tfstate.journal") {
				t.Error("the journal is still there")
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

// TestInterruptedStepsAreCarriedOn: they stay reported until a run has ended well.
func TestInterruptedStepsAreCarriedOn(t *testing.T) {
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
	if snap, _ = read(t, open(t)); len(snap.Interrupted) != 0 {
		t.Errorf("a later run dealt with it: %+v", snap.Interrupted)
	}
}

// TestGivenUpSteps: what a run didn't wait for is reported although the state was saved, until a later run has ended well.
func TestGivenUpSteps(t *testing.T) {
	m := setup(t, state("x"))
	begin(t, m, nil)
	m.Started(creating(1))
	m.Stored(addr(2), addrs.NotDeposed, object("y"), provider)
	m.Ended(addr(2), addrs.NotDeposed)
	final := state("x")
	final.SetCurrent(addr(2), object("y"), provider)
	check(t, m.Save(t.Context(), final))
	check(t, m.Unlock())
	m = open(t)
	snap, diags := read(t, m)
	sameState(t, snap.State, final)
	if len(snap.Interrupted) != 1 || snap.Interrupted[0].Addr != addr(1) || len(diags) != 1 || diags[0].Summary != "Interrupted operations" {
		t.Fatalf("%+v %v", snap.Interrupted, diags)
	}
	begin(t, m, nil)
	check(t, m.Save(t.Context(), final))
	check(t, m.Unlock())
	if snap, diags = read(t, open(t)); len(snap.Interrupted) > 0 || len(diags) > 0 {
		t.Errorf("still reported: %v", diags)
	}
}

func TestALiveRunIsNoInterruptedOne(t *testing.T) {
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
	if err := other.Begin(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "still going on") {
		t.Errorf("a second run at the same time: %v", err)
	}
	check(t, m.Save(t.Context(), state("x", "y")))
	check(t, m.Unlock())
}

// TestReadersAtOnce: who looks whether a run goes on is not taken for it by others who look too.
func TestReadersAtOnce(t *testing.T) {
	m := setup(t, state("x"))
	begin(t, m, nil)
	m.Stored(addr(1), addrs.NotDeposed, object("y"), provider)
	crash(t)
	check(t, m.Unlock())
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for range 50 {
				snap, diags := open(t).Read(t.Context())
				if diags.HasErrors() || snap.State.Instance(addr(1)) == nil {
					t.Errorf("the journal isn't read: %v", diags)
					return
				}
			}
		})
	}
	readers.Wait()
}

// TestRepairKeepsTheProvider: objects that only the backup has belong to the provider that the newer state knows.
func TestRepairKeepsTheProvider(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	instances := func(provider string, keys ...string) string {
		text := `"resources":[{"mode":"managed","type":"t","name":"x","provider":"provider[\"example.com/` + provider + `\"]","instances":[`
		for i, key := range keys {
			if i > 0 {
				text += ","
			}
			text += `{"index_key":"` + key + `","attributes":{}}`
		}
		return text
	}
	write("terraform.tfstate", `{"version":4,"serial":3,"lineage":"l",`+instances("a/new", "0"))
	write("terraform.tfstate.backup", `{"version":4,"serial":2,"lineage":"l",`+instances("a/old", "0", "1", "2")+"]}]}")
	r, err := open(t).Examine(t.Context())
	if err != nil || r.Objects != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	for res := range r.State.Resources() {
		if got := res.Provider.String(); got != `provider["example.com/a/new"]` {
			t.Errorf("the provider is %s", got)
		}
	}
}

// TestLongNames: where the name of a file that is to be kept would be too long, that is told.
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
	if kept, err := m.Mend(t.Context(), r); err == nil || !strings.Contains(err.Error(), "keeping the damaged state") {
		t.Errorf("kept as %q: %v", kept, err)
	}
}

func TestSomebodyElseWroteTheState(t *testing.T) {
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
	if diff := cmp.Diff([]string{"terraform.tfstate", "terraform.tfstate.backup", "terraform.tfstate.journal.unused-1"}, names(t)); diff != "" {
		t.Error(diff)
	}

	// A journal that says nothing new goes quietly, whoever wrote the state.
	writeState(t, state("x", "y"), 9)
	if err := os.Rename("terraform.tfstate.journal.unused-1", "terraform.tfstate.journal"); err != nil {
		t.Fatal(err)
	}
	if _, diags := read(t, open(t)); len(diags) > 0 {
		t.Error(diags)
	}
}

// TestJournalNames: whatever workspaces are called, each has a journal of its own.
func TestJournalNames(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]bool{}
	for _, workspace := range []string{"dev", "Dev", "a:b", "a/b", "..", strings.Repeat("x", 300), strings.Repeat("x", 299) + "y"} {
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

func TestIntervals(t *testing.T) {
	t.Chdir(t.TempDir())
	store := local.New(nil, nil)
	m := statemgr.Open(store, ws, &statemgr.Options{Interval: 20 * time.Millisecond})
	begin(t, m, nil)
	m.Stored(addr(0), addrs.NotDeposed, object("x"), provider)
	for {
		if data, _ := store.Get(t.Context(), ws); data != nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	m.Stored(addr(1), addrs.NotDeposed, object("y"), provider)
	m.Stored(addr(0), addrs.NotDeposed, object("x2"), provider)
	crash(t)
	check(t, m.Unlock())
	snap, _ := read(t, open(t))
	sameState(t, snap.State, state("x2", "y"))
}

func TestSavedByAStateCommandAfterACrash(t *testing.T) {
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

func TestEmptyFiles(t *testing.T) {
	for name, wrong := range map[string]bool{"": false, "terraform.tfstate.backup": true, "terraform.tfstate.journal": true,
		"errored.tfstate": true, "errored.2.tfstate": true} {
		t.Chdir(t.TempDir())
		for _, path := range []string{"terraform.tfstate", name} {
			if path == "" {
				continue
			}
			content := "{}"
			if path == "terraform.tfstate" {
				content = ""
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		snap, diags := open(t).Read(t.Context())
		if diags.HasErrors() != wrong {
			t.Errorf("beside %q: %v", name, diags.Err())
		}
		if !wrong && snap.Exists {
			t.Error("an empty file counts as a state")
		}
	}
}

func TestForeignJournal(t *testing.T) {
	for content, want := range map[string]string{
		"what is this\n": "is no journal that this version can read",
		"{}\n":           "is no journal that this version can read",
		`{"kind":"begin","header":{"journal":1},"serial":5}` + "\n" + `{"kind":"store","addr":"???"}` + "\n": `reading the journal: ???`,
	} {
		setup(t, state("x"))
		if err := os.WriteFile("terraform.tfstate.journal", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, diags := open(t).Read(t.Context()); !diags.HasErrors() || !strings.Contains(diags.Err().Error(), want) {
			t.Errorf("%q gives %v", content, diags.Err())
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
			torn = append(torn, make([]byte, 3000)...) // what was prepared for more
		}
		if err := os.WriteFile("terraform.tfstate.journal", torn, 0o600); err != nil {
			t.Fatal(err)
		}
		snap, diags := read(t, open(t))
		want := 1 + strings.Count(string(whole[header:n]), "\n")
		if n < len(whole) && whole[n] == '\n' {
			want++ // only the line end is missing
		}
		if got := len(ids(snap.State)); got != want {
			t.Fatalf("of %d bytes: %d objects, want %d; %v", n, got, want, diags)
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

// failing is a store whose writes fail.
type failing struct {
	*inmem.Store
	mu  sync.Mutex
	err error
}

func (f *failing) Swap(ctx context.Context, workspace string, old, data []byte) error {
	f.mu.Lock()
	err := f.err
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.Store.Swap(ctx, workspace, old, data)
}

// stuck is a store whose writes end only when they are given up.
type stuck struct{ *inmem.Store }

func (s *stuck) Swap(ctx context.Context, _ string, _, _ []byte) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestHurry: a store that doesn't answer holds up a user in a hurry for seconds, during a snapshot too, and anybody else for minutes.
func TestHurry(t *testing.T) {
	for _, hurried := range []bool{true, false} {
		t.Run(fmt.Sprint(hurried), func(t *testing.T) {
			t.Chdir(t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				hurry := make(chan struct{})
				m := statemgr.Open(&stuck{new(inmem.Store)}, ws, &statemgr.Options{StoreID: "inmem", Hurry: hurry, Interval: time.Second})
				begin(t, m, nil)
				m.Stored(addr(0), addrs.NotDeposed, object("x"), provider)
				time.Sleep(time.Minute) // a snapshot is under way
				if hurried {
					close(hurry)
				}
				start := time.Now()
				diags := m.Save(t.Context(), state("x"))
				if took := time.Since(start); !diags.HasErrors() || took < 10*time.Second || took > 30*time.Minute || (took < time.Minute) != hurried {
					t.Errorf("after %s: %v", took, diags)
				}
				check(t, m.Unlock())
			})
			if _, err := os.Stat("errored.tfstate"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEmergency(t *testing.T) {
	t.Chdir(t.TempDir())
	store := &failing{Store: new(inmem.Store), err: fmt.Errorf("no such luck: %w", backend.ErrChanged)}
	opts := &statemgr.Options{StoreID: "inmem"}
	m := statemgr.Open(store, "w/x", opts)
	begin(t, m, nil)
	m.Stored(addr(0), addrs.NotDeposed, object("x"), provider)
	diags := m.Save(t.Context(), state("x"))
	if !diags.HasErrors() || !strings.Contains(diags[0].Detail, "tofu state push errored.tfstate") || !strings.Contains(diags[0].Detail, ".terraform/journal/") {
		t.Fatal(diags)
	}
	check(t, m.Unlock())
	data, err := os.ReadFile("errored.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	f, err := statefile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	sameState(t, f.State, state("x"))

	// Either way leads out: the journal by itself, and pushing the file.
	store.err = nil
	m = statemgr.Open(store, "w/x", opts)
	snap, diags := read(t, m)
	sameState(t, snap.State, state("x"))
	if len(diags) != 1 || diags[0].Summary != "Recovered an interrupted run" {
		t.Error(diags)
	}
	check(t, m.Push(t.Context(), f, false))
	m = statemgr.Open(store, "w/x", opts)
	snap, diags = read(t, m)
	sameState(t, snap.State, state("x"))
	if len(diags) > 0 || snap.Lineage != f.Lineage || snap.Serial != f.Serial {
		t.Error(snap, diags)
	}
	if diff := cmp.Diff([]string{"errored.tfstate"}, names(t)); diff != "" {
		t.Error(diff)
	}

	// The file of another run is left as it is.
	for _, name := range []string{"errored.2.tfstate", "errored.3.tfstate"} {
		store.err = backend.ErrChanged
		m = statemgr.Open(store, name, opts)
		begin(t, m, nil)
		m.Stored(addr(0), addrs.NotDeposed, object(name), provider)
		if diags := m.Save(t.Context(), state(name)); !diags.HasErrors() || !strings.Contains(diags[0].Detail, "tofu state push "+name) {
			t.Error(diags)
		}
		check(t, m.Unlock())
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	if now, err := os.ReadFile("errored.tfstate"); err != nil || !bytes.Equal(now, data) {
		t.Error("the first file was replaced", err)
	}
}

func TestNowhereToSave(t *testing.T) {
	t.Chdir(t.TempDir())
	store := &failing{Store: new(inmem.Store), err: backend.ErrChanged}
	m := statemgr.Open(store, ws, &statemgr.Options{WorkDir: "missing/folder"})
	read(t, m)
	diags := m.Save(t.Context(), state("x"))
	if !diags.HasErrors() {
		t.Fatal("saving nowhere works")
	}
	unsaved, ok := diags[0].Extra.(statemgr.Unsaved)
	if !ok {
		t.Fatalf("%#v", diags)
	}
	f, err := statefile.Parse(unsaved.Data)
	if err != nil {
		t.Fatal(err)
	}
	sameState(t, f.State, state("x"))
}

func TestUnwritableDestination(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	m := statemgr.Open(local.New(nil, &local.Options{StateOut: "folder"}), ws, nil)
	read(t, m)
	if err := m.Begin(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "folder is a folder") {
		t.Errorf("beginning with a destination that can't be written: %v", err)
	}
}

func TestLockWaits(t *testing.T) {
	store := new(inmem.Store)
	a, b := statemgr.Open(store, ws, nil), statemgr.Open(store, ws, nil)
	check(t, a.Lock(t.Context(), "OperationTypeApply", 0, nil))
	diags := b.Lock(t.Context(), "OperationTypePlan", 0, nil)
	if !diags.HasErrors() || !strings.Contains(diags[0].Detail, "OperationTypeApply") || !strings.Contains(diags[0].Detail, a.LockID()) {
		t.Errorf("the holder isn't named: %v", diags)
	}
	var waited []statemgr.Waiting
	done := make(chan tfdiags.Diagnostics)
	told := make(chan struct{}, 8)
	go func() {
		done <- b.Lock(t.Context(), "OperationTypePlan", time.Minute, func(w statemgr.Waiting) {
			waited = append(waited, w)
			told <- struct{}{}
		})
	}()
	<-told
	check(t, a.Unlock())
	check(t, <-done)
	if len(waited) == 0 || waited[0].Holder == nil || waited[0].Holder.Operation != "OperationTypeApply" {
		t.Errorf("progress: %+v", waited)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	if diags := a.Lock(ctx, "x", time.Hour, nil); !diags.HasErrors() || !strings.Contains(diags[0].Detail, "interrupted") {
		t.Errorf("a cancelled wait: %v", diags)
	}
	if err := a.ForceUnlock(t.Context(), "wrong"); err == nil {
		t.Error("a wrong ID unlocks")
	}
	if err := a.ForceUnlock(t.Context(), b.LockID()); err != nil {
		t.Error(err)
	}
	check(t, a.Lock(t.Context(), "x", 0, nil))
}

// TestLockLeftBehind: a lock is explained as left behind only if a process of that number would be seen from here.
func TestLockLeftBehind(t *testing.T) {
	store := new(inmem.Store)
	m := statemgr.Open(store, ws, nil)
	check(t, m.Lock(t.Context(), "x", 0, nil))
	own := statemgr.Open(store, ws, nil).Lock(t.Context(), "x", 0, nil)[0].Extra.(*backend.LockInfo)
	check(t, m.Unlock())
	var pid int
	var place string
	if _, err := fmt.Sscanf(own.Info, "process %d of %s", &pid, &place); err != nil || pid != os.Getpid() {
		t.Fatalf("the lock doesn't name its process: %q", own.Info)
	}
	const none = 1 << 23 // more than a system numbers
	for info, left := range map[string]bool{
		fmt.Sprintf("process %d of %s", none, place):     true,
		fmt.Sprintf("process %d of elsewhere", none):     false,
		fmt.Sprintf("process %d", none):                  false,
		fmt.Sprintf("process %d of %s and", none, place): false,
		fmt.Sprintf("the process %d of %s", none, place): false,
		own.Info: false,
		"":       false,
	} {
		lock := backend.LockInfo{ID: "one", Who: own.Who, Info: info}
		if _, err := store.Lock(t.Context(), ws, lock); err != nil {
			t.Fatal(err)
		}
		diags := m.Lock(t.Context(), "x", 0, nil)
		if !diags.HasErrors() || strings.Contains(diags[0].Detail, "does not run any more") != left {
			t.Errorf("%q: %v", info, diags)
		}
		if err := store.Unlock(t.Context(), ws, "one"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPush(t *testing.T) {
	file := func(lineage string, serial uint64, ids ...string) *statefile.File {
		return &statefile.File{Lineage: lineage, Serial: serial, State: state(ids...)}
	}
	for _, test := range []struct {
		file    *statefile.File
		force   bool
		want    string // error
		lineage string
		serial  uint64
	}{
		{file("l", 6, "y"), false, "", "l", 6},
		{file("l", 5, "x"), false, "", "l", 5},
		{file("", 7, "y"), false, "", "l", 7},
		{file("", 0), false, "", "l", 6},
		{file("", 0), true, "", "l", 0},
		{file("l", 5, "y"), false, "same serial, 5", "l", 5},
		{file("l", 4, "x"), false, "serial 5, which is newer than 4", "l", 5},
		{file("m", 9, "x"), false, "different lineages", "l", 5},
		{file("m", 9), false, "different lineages", "l", 5},
		{file("m", 1, "y"), true, "", "m", 1},
	} {
		m := setup(t, state("x"))
		read(t, m)
		diags := m.Push(t.Context(), test.file, test.force)
		if (test.want == "") != !diags.HasErrors() || test.want != "" && !strings.Contains(diags[0].Detail, test.want) {
			t.Errorf("%+v: %v, want %s", test.file, diags, test.want)
		}
		snap, _ := read(t, open(t))
		if test.want == "" {
			sameState(t, snap.State, test.file.State)
		}
		if snap.Lineage != test.lineage || snap.Serial != test.serial {
			t.Errorf("%+v: lineage %s and serial %d, want %s and %d", test.file, snap.Lineage, snap.Serial, test.lineage, test.serial)
		}
	}
}

func TestAppliedPlans(t *testing.T) {
	m := setup(t, nil)
	begin(t, m, &statemgr.Run{PlanID: "p1"})
	if done, err := statemgr.Applied(".terraform", "p1"); done || err != nil {
		t.Errorf("before the first change: %v, %v", done, err)
	}
	m.Stored(addr(0), addrs.NotDeposed, object("x"), provider)
	m.Stored(addr(1), addrs.NotDeposed, object("x"), provider)
	for id, want := range map[string]bool{"p1": true, "p2": false} {
		if done, err := statemgr.Applied(".terraform", id); done != want || err != nil {
			t.Errorf("%s: %v, %v", id, done, err)
		}
	}
	check(t, m.Save(t.Context(), state("x", "x")))
	check(t, m.Unlock())
}

func TestManyAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	m := statemgr.Open(local.New(nil, nil), ws, &statemgr.Options{Interval: time.Millisecond})
	begin(t, m, nil)
	want := states.New()
	var mu sync.Mutex
	var group sync.WaitGroup
	for g := range 10 {
		group.Go(func() {
			for i := g * 100; i < (g+1)*100; i++ {
				m.Started(creating(i))
				obj := object(fmt.Sprint(i))
				m.Stored(addr(i), addrs.NotDeposed, obj, provider)
				m.Ended(addr(i), addrs.NotDeposed)
				mu.Lock()
				want.SetCurrent(addr(i), obj, provider)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	crash(t)
	snap, _ := read(t, open(t))
	sameState(t, snap.State, want)
	check(t, m.Save(t.Context(), want))
	check(t, m.Unlock())
}

// codec is the encryption of a state with a fixed key, and clear text allowed.
func codec(t *testing.T, methods string) *encryption.Target {
	t.Helper()
	f, hdiags := hclsyntax.ParseConfig([]byte(`
		method "aes_gcm" "m" {
			keys = { encryption_key = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] }
		}
		method "aes_gcm" "n" {
			keys = { encryption_key = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] }
		}
		method "unencrypted" "open" {}
		state {
			`+methods+`
		}`), "main.tf", hcl.InitialPos)
	if hdiags.HasErrors() {
		t.Fatal(hdiags)
	}
	c, diags := encryption.Load(&encryption.Source{Blocks: []*hcl.Block{{Body: f.Body}}, Registry: all.Registry(), Getenv: os.Getenv,
		Eval: func(expr hcl.Expression, want cty.Type) (cty.Value, tfdiags.Diagnostics) {
			v, _ := expr.Value(nil)
			v, err := convert.Convert(v, want)
			if err != nil {
				return v, tfdiags.Diagnostics{}.Append(err)
			}
			return v, nil
		}})
	check(t, diags)
	return c.State()
}

func TestEncryption(t *testing.T) {
	setup(t, state("clear-text"))
	opts := &statemgr.Options{Codec: codec(t, "method = method.aes_gcm.m\nfallback {\nmethod = method.unencrypted.open\n}")}
	encrypted := func(c *encryption.Target) *statemgr.Manager {
		return statemgr.Open(local.New(nil, nil), ws, &statemgr.Options{Codec: c})
	}
	m := encrypted(opts.Codec.(*encryption.Target))
	begin(t, m, nil)
	m.Started(creating(1))
	m.Stored(addr(1), addrs.NotDeposed, object("journal-text"), provider)
	crash(t)
	check(t, m.Unlock())
	if data, _ := os.ReadFile("terraform.tfstate.journal"); strings.Contains(string(data), "journal-text") || strings.Contains(string(data), "hunter2") {
		t.Errorf("the journal isn't encrypted: %s", data)
	}
	if _, diags := open(t).Read(t.Context()); !diags.HasErrors() || !strings.Contains(diags.Err().Error(), "it may be encrypted") {
		t.Errorf("an encrypted journal without a key: %v", diags.Err())
	}
	m = encrypted(opts.Codec.(*encryption.Target))
	begin(t, m, nil)
	check(t, m.Save(t.Context(), state("clear-text", "journal-text")))
	check(t, m.Unlock())
	data, err := os.ReadFile("terraform.tfstate")
	if err != nil || strings.Contains(string(data), "-text") || !strings.HasPrefix(string(data), "{\n  \"serial\": 6,\n  \"lineage\": \"l\",\n  \"meta\": {},\n") || !strings.HasSuffix(string(data), "\"v0\"\n}\n") {
		t.Errorf("%v\n%s", err, data)
	}
	if _, diags := open(t).Read(t.Context()); !diags.HasErrors() || !strings.Contains(diags.Err().Error(), "the state is encrypted") {
		t.Errorf("an encrypted state without a key: %v", diags.Err())
	}

	// A run that changes nothing still takes over a new key, and then leaves the file alone.
	for _, methods := range []string{"method = method.aes_gcm.n\nfallback {\nmethod = method.aes_gcm.m\n}", "method = method.aes_gcm.n"} {
		before, _ := os.ReadFile("terraform.tfstate")
		m = encrypted(codec(t, methods))
		begin(t, m, nil)
		check(t, m.Save(t.Context(), state("clear-text", "journal-text")))
		check(t, m.Unlock())
		after, _ := os.ReadFile("terraform.tfstate")
		if rewritten := string(before) != string(after); rewritten != strings.Contains(methods, "fallback") {
			t.Errorf("%s: written anew: %v", methods, rewritten)
		}
	}
}

func FuzzJournal(f *testing.F) {
	const begin = `{"kind":"begin","header":{"journal":1,"program":"x","who":"me","pid":1,"workspace":"default","lineage":"l","exists":true},"serial":5}` + "\n"
	f.Add([]byte(begin + `{"kind":"start","addr":"lab_object.a[0]","provider":"provider[\"a/b\"]","action":"create","planned":"kq9bIm9iamVjdCIse31dgA==","time":"2024-01-01T00:00:00Z"}` + "\n"))
	f.Add([]byte(begin + `{"kind":"store","addr":"lab_object.a[\"x\"]","deposed":"00000001","provider":"provider[\"a/b\"]","object":{"schema_version":0,"attributes":{"id":"1"}}}` + "\n"))
	f.Add([]byte(begin + `{"kind":"store","addr":"lab_object.a[0]","object":null}` + "\n" + `{"kind":"snapshot","serial":6}` + "\n" + `{"kind":"end","addr":"lab_object.a[0]"}`))
	f.Fuzz(func(t *testing.T, journal []byte) {
		t.Chdir(t.TempDir())
		writeState(t, state("x"), 5)
		if err := os.WriteFile("terraform.tfstate.journal", journal, 0o600); err != nil {
			t.Fatal(err)
		}
		m := open(t)
		snap, diags := m.Read(t.Context())
		if diags.HasErrors() {
			return
		}
		check(t, m.Save(t.Context(), snap.State))
		after, diags := open(t).Read(t.Context())
		if diags.HasErrors() || !statefile.Equal(after.State, snap.State) {
			t.Errorf("what was recovered isn't what is saved: %v", diags.Err())
		}
	})
}
