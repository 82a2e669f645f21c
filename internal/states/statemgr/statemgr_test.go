package statemgr_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/backend/local"
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
	return addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "lab_object", Name: "a"},
		Key: addrs.IntKey(n)}
}

func object(id string) *states.Object {
	return &states.Object{Attrs: fmt.Appendf(nil, `{"id":%q}`, id), Private: []byte("p"),
		SensitivePaths: []cty.Path{cty.GetAttrPath("id")}}
}

func state(ids ...string) *states.State {
	s := states.New()
	for i, id := range ids {
		s.SetCurrent(addr(i), object(id), provider)
	}
	return s
}

func creating(n int) statemgr.Operation {
	return statemgr.Operation{Addr: addr(n), Action: plans.Create, Provider: provider,
		Planned: cty.ObjectVal(map[string]cty.Value{
			"id": cty.UnknownVal(cty.String), "name": cty.StringVal(fmt.Sprint("n", n)),
			"password": cty.StringVal("hunter2").Mark(marks.Sensitive),
		})}
}

// setup returns a manager of a local state in a new working directory.
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
	data, err := statefile.Encode(&statefile.File{State: s, Serial: serial, Lineage: "l"},
		&statefile.Options{Indent: true})
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
	var warnings tfdiags.Diagnostics
	snap, err := m.Read(t.Context(), warnings.Add)
	check(t, err)
	return snap, warnings
}

func begin(t *testing.T, m *statemgr.Manager, run *statemgr.Run) {
	t.Helper()
	check(t, m.Lock(t.Context(), "OperationTypeApply", 0, nil))
	read(t, m)
	if err := m.Begin(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// crash changes to a copy of the working directory, as it was at one moment. The copied journal
// isn't locked, so it looks like that of a killed process.
func crash(t *testing.T) {
	t.Helper()
	for range 100 {
		to := t.TempDir()
		before := listing(t)
		err := os.CopyFS(to, os.DirFS("."))
		if err == nil && slices.Equal(before, listing(t)) {
			t.Chdir(to)
			return
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	t.Fatal("the working directory never stayed the same for the time of a copy")
}

// listing returns the name, size and time of each file in the working directory.
func listing(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			out = append(out, fmt.Sprint(path, " ", info.Size(), " ", info.ModTime()))
		}
		return nil
	})
	check(t, err)
	return out
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

func TestFirstEmptyState(t *testing.T) {
	m := setup(t, nil)
	begin(t, m, nil)
	check(t, m.Save(t.Context(), states.New()))
	check(t, m.Unlock())
	if snap, _ := read(t, open(t)); snap.Serial != 1 || !snap.Exists {
		t.Errorf("%+v", snap)
	}
}

func TestSnapshotInterval(t *testing.T) {
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
	// Others who work in the directory read the list and add to it, as far as the umask allows.
	check(t, os.WriteFile("usual", nil, 0o666))
	usual, err := os.Stat("usual")
	check(t, err)
	list, err := os.Stat(".terraform/applied-plans")
	check(t, err)
	if list.Mode() != usual.Mode() {
		t.Errorf("the list has the mode %v, other files %v", list.Mode(), usual.Mode())
	}
	check(t, m.Save(t.Context(), state("x", "x")))
	check(t, m.Unlock())
}

func TestConcurrentSteps(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	// The manager saves snapshots at any time, also when crash has changed the working directory.
	store := local.New(nil, &local.Options{Dir: dir})
	m := statemgr.Open(store, ws, &statemgr.Options{Interval: time.Millisecond})
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
