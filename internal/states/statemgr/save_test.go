package statemgr_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/backend/inmem"
	"tofu/internal/backend/local"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/testenv/encryptiontest"
	"tofu/internal/tfdiags"
)

// failing is a store whose writes fail.
type failing struct {
	*inmem.Store
	mu  sync.Mutex
	err error
}

func (f *failing) Swap(ctx context.Context, workspace, version string, data []byte) (string, error) {
	f.mu.Lock()
	err := f.err
	f.mu.Unlock()
	if err != nil {
		return "", err
	}
	return f.Store.Swap(ctx, workspace, version, data)
}

// stuck is a store whose writes block until they are canceled.
type stuck struct{ *inmem.Store }

func (s *stuck) Swap(ctx context.Context, _, _ string, _ []byte) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// lossy is a store that carries out all writes, but loses the responses of the first ones.
type lossy struct {
	*inmem.Store
	lost int
}

func (l *lossy) Swap(ctx context.Context, workspace, version string, data []byte) (string, error) {
	written, err := l.Store.Swap(ctx, workspace, version, data)
	if err == nil && l.lost > 0 {
		l.lost--
		return "", errors.New("connection reset")
	}
	return written, err
}

// TestLostResponses checks that a write whose response is lost is recognized as done, even if
// encryption makes the data of each attempt different. A later write by another process must not be
// mistaken for the lost one.
func TestLostResponses(t *testing.T) {
	for name, test := range map[string]struct {
		lost    int
		foreign bool
	}{
		"once": {lost: 1}, "twice": {lost: 2}, "thrice": {lost: 3}, "another process": {lost: 1, foreign: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				store := &lossy{Store: new(inmem.Store)}
				opts := &statemgr.Options{StoreID: "inmem", Codec: encryptiontest.State(t, "method = method.aes_gcm.a"),
					Interval: time.Second}
				m := statemgr.Open(store, ws, opts)
				begin(t, m, nil)
				check(t, m.Save(t.Context(), state("a")))
				check(t, m.Begin(t.Context(), nil))
				store.lost = test.lost
				m.Stored(addr(0), addrs.NotDeposed, object("x"), provider)
				time.Sleep(time.Minute) // long enough for a snapshot
				m.Stored(addr(1), addrs.NotDeposed, object("y"), provider)
				if test.foreign {
					check(t, store.Put(t.Context(), ws, []byte("{}")))
				}
				err := m.Save(t.Context(), state("x", "y"))
				check(t, m.Unlock())
				if test.foreign {
					if err == nil || !strings.Contains(err.Error(), "errored.tfstate") {
						t.Errorf("error %v", err)
					}
					return
				}
				check(t, err)
				snap, _ := read(t, statemgr.Open(store, ws, opts))
				sameState(t, snap.State, state("x", "y"))
				if _, err := os.Stat("errored.tfstate"); err == nil {
					t.Error("there is an errored.tfstate")
				}
			})
		})
	}
}

// TestAbort checks that a blocked store delays Save by seconds after an abort, even during a
// snapshot, and by minutes without an abort.
func TestAbort(t *testing.T) {
	for _, aborted := range []bool{true, false} {
		t.Run(fmt.Sprint(aborted), func(t *testing.T) {
			t.Chdir(t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				abort := make(chan struct{})
				m := statemgr.Open(&stuck{new(inmem.Store)}, ws,
					&statemgr.Options{StoreID: "inmem", Abort: abort, Interval: time.Second})
				begin(t, m, nil)
				m.Stored(addr(0), addrs.NotDeposed, object("x"), provider)
				time.Sleep(time.Minute) // long enough for a snapshot to be in progress
				if aborted {
					close(abort)
				}
				start := time.Now()
				err := m.Save(t.Context(), state("x"))
				if took := time.Since(start); err == nil || took < 10*time.Second || took > 30*time.Minute ||
					(took < time.Minute) != aborted {
					t.Errorf("after %s: %v", took, err)
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
	store := &failing{Store: new(inmem.Store), err: fmt.Errorf("disk failure: %w", backend.ErrChanged)}
	opts := &statemgr.Options{StoreID: "inmem"}
	m := statemgr.Open(store, "w/x", opts)
	begin(t, m, nil)
	m.Stored(addr(0), addrs.NotDeposed, object("x"), provider)
	err := m.Save(t.Context(), state("x"))
	if err == nil || !strings.Contains(err.Error(), "tofu state push errored.tfstate") ||
		!strings.Contains(err.Error(), ".terraform/journal/") {
		t.Fatal(err)
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

	// Both the journal and pushing the file restore the state.
	store.err = nil
	m = statemgr.Open(store, "w/x", opts)
	snap, warnings := read(t, m)
	sameState(t, snap.State, state("x"))
	if len(warnings) != 1 || warnings[0].Summary != "Recovered an interrupted run" {
		t.Error(warnings)
	}
	check(t, m.Push(t.Context(), f, false))
	m = statemgr.Open(store, "w/x", opts)
	snap, warnings = read(t, m)
	sameState(t, snap.State, state("x"))
	if len(warnings) > 0 || snap.Lineage != f.Lineage || snap.Serial != f.Serial {
		t.Error(snap, warnings)
	}
	if diff := cmp.Diff([]string{"errored.tfstate"}, names(t)); diff != "" {
		t.Error(diff)
	}

	// The file of another run is not overwritten.
	for _, name := range []string{"errored.2.tfstate", "errored.3.tfstate"} {
		store.err = backend.ErrChanged
		m = statemgr.Open(store, name, opts)
		begin(t, m, nil)
		m.Stored(addr(0), addrs.NotDeposed, object(name), provider)
		if err := m.Save(t.Context(), state(name)); err == nil ||
			!strings.Contains(err.Error(), "tofu state push "+name) {
			t.Error(err)
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
	err := m.Save(t.Context(), state("x"))
	if err == nil {
		t.Fatal("saving without a writable place succeeded")
	}
	unsaved, ok := tfdiags.FromError(err)[0].Extra.(statemgr.Unsaved)
	if !ok {
		t.Fatalf("%#v", err)
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
	if err := m.Begin(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "folder is a directory") {
		t.Errorf("Begin with an unwritable destination: %v", err)
	}
}

// TestCreate checks that if two managers create the same workspace, the second one returns the
// state of the first.
func TestCreate(t *testing.T) {
	t.Chdir(t.TempDir())
	store := new(inmem.Store)
	first, second := statemgr.Open(store, "w", nil), statemgr.Open(store, "w", nil)
	read(t, first)
	read(t, second)
	made, err := first.Create(t.Context(), tfdiags.Drop)
	check(t, err)
	found, err := second.Create(t.Context(), tfdiags.Drop)
	check(t, err)
	if !made.Exists || made.Serial != 1 || made.Lineage == "" {
		t.Errorf("%+v", made)
	}
	if found.Serial != 1 || found.Lineage != made.Lineage {
		t.Errorf("got %+v, want %+v", found, made)
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
		{file("l", 4, "x"), false, "serial 5, which is newer than serial 4 of the state that would replace it", "l", 5},
		{file("m", 9, "x"), false, "different lineages", "l", 5},
		{file("m", 9), false, "different lineages", "l", 5},
		{file("m", 1, "y"), true, "", "m", 1},
	} {
		m := setup(t, state("x"))
		read(t, m)
		err := m.Push(t.Context(), test.file, test.force)
		if (test.want == "") != (err == nil) || test.want != "" && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %s", test.file, err, test.want)
		}
		snap, _ := read(t, open(t))
		if test.want == "" {
			sameState(t, snap.State, test.file.State)
		}
		if snap.Lineage != test.lineage || snap.Serial != test.serial {
			t.Errorf("%+v: lineage %s and serial %d, want %s and %d", test.file, snap.Lineage, snap.Serial,
				test.lineage, test.serial)
		}
	}
}
