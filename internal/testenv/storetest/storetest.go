package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tofu/internal/backend"
)

// Run runs the suite. The function open returns two stores over the same, empty storage, as two
// processes would have.
func Run(t *testing.T, open func(t *testing.T) (a, b backend.Store)) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, a, b backend.Store)
	}{
		{"Nothing", nothing},
		{"Snapshots", snapshots},
		{"Workspaces", workspaces},
		{"Lock", lock},
		{"LockRace", lockRace},
		{"WriteWhileLocked", writeWhileLocked},
		{"Swap", swap},
		{"Probe", probe},
		{"Canceled", canceled},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := open(t)
			test.run(t, a, b)
		})
	}
}

const ws = backend.DefaultWorkspace

func nothing(t *testing.T, a, _ backend.Store) {
	data, err := a.Get(t.Context(), ws)
	if err != nil || data != nil {
		t.Errorf("an empty store returned %q, %v; want nil, nil", data, err)
	}
	names, err := a.List(t.Context())
	if err != nil && !errors.Is(err, backend.ErrNoWorkspaces) || len(names) != 0 {
		t.Errorf("an empty store lists %q, %v", names, err)
	}
	if p, ok := a.(backend.Pinger); ok {
		if err := p.Ping(t.Context()); err != nil {
			t.Errorf("the store can't be read: %v", err)
		}
	}
	if err := a.Delete(t.Context(), ws); err != nil {
		t.Errorf("deleting nothing: %v", err)
	}
}

func snapshots(t *testing.T, a, b backend.Store) {
	large := bytes.Repeat([]byte(`{"text":"déjà vu \u2028 <&> 'quoted' %s $1 \\"}`+"\n"), 100_000)
	for i, want := range [][]byte{[]byte("{}"), large, []byte("{\"short\":\"again\"}\n"),
		[]byte(strings.Repeat("x", 1))} {
		if err := a.Put(t.Context(), ws, want); err != nil {
			t.Fatalf("put %d: %v", i, err)
		}
		for name, store := range map[string]backend.Store{"writer": a, "other": b} {
			got, err := store.Get(t.Context(), ws)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("snapshot %d comes back to the %s with %d bytes (%v), want %d", i, name, len(got), err,
					len(want))
			}
		}
	}
	if err := b.Delete(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Get(t.Context(), ws); got != nil || err != nil {
		t.Errorf("after Delete: %q, %v", got, err)
	}
	put(t, a, ws, "after")
}

func workspaces(t *testing.T, a, b backend.Store) {
	if _, err := a.List(t.Context()); errors.Is(err, backend.ErrNoWorkspaces) {
		if err := a.Put(t.Context(), "other", []byte("{}")); !errors.Is(err, backend.ErrNoWorkspaces) {
			t.Errorf("putting a workspace into a store without workspaces: %v", err)
		}
		t.Skip("the store has no workspaces")
	}
	names := []string{"b", "a-long-name_with.dots", "a", "ä"}
	names = slices.DeleteFunc(names, func(name string) bool {
		err := a.Put(t.Context(), name, []byte("of "+name))
		if err != nil && !errors.Is(err, backend.ErrWorkspaceName) {
			t.Fatal(err)
		}
		return err != nil
	})
	slices.Sort(names)
	got, err := b.List(t.Context())
	if err != nil || !slices.Equal(got, names) {
		t.Errorf("lists %q, %v; want %q", got, err, names)
	}
	for _, name := range names {
		if data, err := b.Get(t.Context(), name); err != nil || string(data) != "of "+name {
			t.Errorf("workspace %s has %q, %v", name, data, err)
		}
	}
	if data, err := b.Get(t.Context(), ws); data != nil || err != nil {
		t.Errorf("the default workspace has %q, %v", data, err)
	}
	if err := b.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	put(t, a, ws, "of default")
	got, err = a.List(t.Context())
	isSorted := slices.IsSorted(got)
	got = slices.DeleteFunc(got, func(n string) bool { return n == ws }) // the default workspace may be listed or not
	want := slices.DeleteFunc(names, func(n string) bool { return n == "a" })
	if err != nil || !isSorted || !slices.Equal(got, want) {
		t.Errorf("lists %q, %v; want %q", got, err, want)
	}
}

func lock(t *testing.T, a, b backend.Store) {
	la, lb := lockers(t, a, b)
	id, err := la.Lock(t.Context(), ws, info("first"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = lb.Lock(t.Context(), ws, info("second"))
	locked, ok := errors.AsType[*backend.LockedError](err)
	if !ok {
		t.Fatalf("locking a locked workspace: %v", err)
	}
	// Stores of providers get only the operation.
	if locked.Info == nil || !strings.Contains(locked.Info.Who, "somebody") && locked.Info.Operation != "first" {
		t.Errorf("the error doesn't say who holds the lock: %v", err)
	}
	if err := la.Unlock(t.Context(), ws, "wrong-id"); err == nil {
		t.Error("a wrong ID unlocks")
	}
	if _, err := lb.Lock(t.Context(), ws, info("third")); !errors.As(err, &locked) {
		t.Fatalf("after a wrong unlock: %v", err)
	}
	// Unlocking must not depend on the context used for locking.
	if err := la.Unlock(context.Background(), ws, id); err != nil {
		t.Fatal(err)
	}
	id, err = lb.Lock(t.Context(), ws, info("fourth"))
	if err != nil {
		t.Fatal(err)
	}
	if err := lb.Unlock(t.Context(), ws, id); err != nil {
		t.Error(err)
	}
	if data, err := a.Get(t.Context(), ws); data != nil || err != nil {
		t.Errorf("locking left a snapshot: %q, %v", data, err)
	}
}

func lockRace(t *testing.T, a, b backend.Store) {
	la, lb := lockers(t, a, b)
	var (
		group sync.WaitGroup
		mutex sync.Mutex
		held  int
		won   int
	)
	for i := range 16 {
		l := la
		if i%2 == 1 {
			l = lb
		}
		group.Go(func() {
			for range 10 {
				id, err := l.Lock(t.Context(), ws, info(fmt.Sprint("racer ", i)))
				if _, ok := errors.AsType[*backend.LockedError](err); ok {
					time.Sleep(time.Millisecond)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mutex.Lock()
				held++
				won++
				if held != 1 {
					t.Errorf("%d hold the lock at once", held)
				}
				mutex.Unlock()
				time.Sleep(time.Millisecond)
				mutex.Lock()
				held--
				mutex.Unlock()
				if err := l.Unlock(t.Context(), ws, id); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if won == 0 {
		t.Error("the lock was never acquired")
	}
}

// writeWhileLocked checks that replacing the snapshot keeps the lock.
func writeWhileLocked(t *testing.T, a, b backend.Store) {
	la, lb := lockers(t, a, b)
	id, err := la.Lock(t.Context(), ws, info("writer"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		put(t, a, ws, fmt.Sprint("version ", i))
		if _, err := a.Get(t.Context(), ws); err != nil {
			t.Fatal(err)
		}
		var locked *backend.LockedError
		if _, err := lb.Lock(t.Context(), ws, info("other")); !errors.As(err, &locked) {
			t.Fatalf("after write %d the lock is free: %v", i, err)
		}
	}
	if err := la.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	id, err = lb.Lock(t.Context(), ws, info("other"))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := b.Get(t.Context(), ws); err != nil || string(data) != "version 2" {
		t.Errorf("the next holder reads %q, %v", data, err)
	}
	if err := lb.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
}

func swap(t *testing.T, a, b backend.Store) {
	sa, ok := a.(backend.Swapper)
	if !ok {
		t.Skip("the store has no conditional write")
	}
	sb := b.(backend.Swapper)
	versions := map[string]string{} // versions by snapshot
	step := func(s backend.Swapper, old, data string, want error) {
		t.Helper()
		version, err := s.Swap(t.Context(), ws, versions[old], []byte(data))
		if !errors.Is(err, want) {
			t.Fatalf("from %q to %q: %v, want %v", old, data, err, want)
		}
		if err != nil {
			return
		}
		versions[data] = version
		got, found, err := s.GetVersion(t.Context(), ws)
		if err != nil || string(got) != data || found != version || version == "" {
			t.Fatalf("after writing %q with the version %q: %q with %q, %v", data, version, got, found, err)
		}
	}
	if data, version, err := sa.GetVersion(t.Context(), ws); data != nil || version != "" || err != nil {
		t.Fatalf("an empty store has %q with the version %q, %v", data, version, err)
	}
	step(sa, "", "1", nil)
	step(sb, "", "x", backend.ErrChanged)
	step(sb, "1", "2", nil)
	step(sa, "1", "y", backend.ErrChanged)
	step(sa, "2", "3", nil)
	if err := b.Delete(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	step(sa, "3", "z", backend.ErrChanged)
	step(sb, "", "3", nil)
	if data, err := b.Get(t.Context(), ws); err != nil || string(data) != "3" {
		t.Errorf("%q, %v", data, err)
	}
}

func probe(t *testing.T, a, b backend.Store) {
	p, ok := a.(backend.Prober)
	if !ok {
		t.Skip("the store can't probe")
	}
	if err := p.Probe(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	if data, err := b.Get(t.Context(), ws); data != nil || err != nil {
		t.Errorf("probing left a snapshot: %q, %v", data, err)
	}
	put(t, a, ws, "data")
	if err := p.Probe(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	if data, err := b.Get(t.Context(), ws); string(data) != "data" || err != nil {
		t.Errorf("probing changed the snapshot: %q, %v", data, err)
	}
}

// canceled checks that a call with a canceled context leaves no partial write, whether it fails or
// succeeds.
func canceled(t *testing.T, a, b backend.Store) {
	put(t, a, ws, "before")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := a.Put(ctx, ws, []byte("after"))
	want := "after"
	if err != nil {
		want = "before"
	}
	if data, gerr := b.Get(t.Context(), ws); gerr != nil || string(data) != want {
		t.Errorf("Put returned %v and left %q, %v", err, data, gerr)
	}
	put(t, a, ws, "at last")
}

func put(t *testing.T, s backend.Store, workspace, data string) {
	t.Helper()
	if err := s.Put(t.Context(), workspace, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func lockers(t *testing.T, a, b backend.Store) (backend.Locker, backend.Locker) {
	la, ok := a.(backend.Locker)
	if !ok {
		t.Skip("the store has no locks")
	}
	return la, b.(backend.Locker)
}

func info(operation string) backend.LockInfo {
	return backend.LockInfo{ID: "id of " + operation, Operation: operation, Who: "somebody@somewhere",
		Version: "1.0.0", Created: time.Now().UTC()}
}
