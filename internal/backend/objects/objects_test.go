package objects_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tofu/internal/backend"
	"tofu/internal/backend/objects"
	"tofu/internal/testenv/storetest"
)

const ws = backend.DefaultWorkspace

// memory is an object store in memory.
type memory struct {
	mu      sync.Mutex
	objects map[string]object
	writes  int
	lose    error // if set, returned instead of the results of writes and deletions, which are still carried out
}

type object struct {
	data    []byte
	version string
}

func (m *memory) Get(_ context.Context, key string) ([]byte, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	if !ok {
		return nil, "", objects.ErrNotFound
	}
	return bytes.Clone(o.data), o.version, nil
}

func (m *memory) Put(ctx context.Context, key string, data []byte, c objects.Condition) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	o, ok := m.objects[key]
	if c.Absent && ok || c.Version != "" && c.Version != o.version {
		return "", objects.ErrPrecondition
	}
	m.writes++
	version := fmt.Sprint("v", m.writes)
	m.objects[key] = object{bytes.Clone(data), version}
	return version, m.lose
}

func (m *memory) Delete(_ context.Context, key, version string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[key]; ok && version != "" && version != o.version {
		return objects.ErrPrecondition
	}
	delete(m.objects, key)
	return m.lose
}

func (m *memory) List(_ context.Context, prefix string, found func(string)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.objects {
		if strings.HasPrefix(key, prefix) {
			found(key)
		}
	}
	return nil
}

var layout = objects.Layout{
	State: func(workspace string) string { return "states/" + workspace },
	Lock:  func(workspace string) string { return "states/" + workspace + ".lock" },
	Workspace: func(key string) (string, bool) {
		return strings.TrimPrefix(key, "states/"), !strings.HasSuffix(key, ".lock")
	},
	Prefix: "states/",
	Path:   func(workspace string) string { return "bucket/states/" + workspace },
}

func open(m *memory) *objects.Locked { return objects.WithLocks(objects.New(m, layout)) }

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) (a, b backend.Store) {
		m := &memory{objects: map[string]object{}}
		return open(m), open(m)
	})
}

// TestLostResponses checks that a write, a lock and an unlock whose responses are lost are
// recognized as done. Another process's write in between must not be mistaken for this process's
// write.
func TestLostResponses(t *testing.T) {
	for _, lost := range []error{errors.New("connection reset"), objects.ErrPrecondition} {
		m := &memory{objects: map[string]object{}, lose: lost}
		s := open(m)
		version, err := s.Swap(t.Context(), ws, "", []byte("1"))
		if err != nil || version != "v1" {
			t.Fatalf("%v: the write is not recognized: %q, %v", lost, version, err)
		}
		id, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "a"})
		if err != nil || id != "a" {
			t.Fatalf("%v: the lock is not recognized: %q, %v", lost, id, err)
		}
		if err := s.Unlock(t.Context(), ws, "a"); err != nil {
			t.Fatalf("%v: the unlock is not recognized: %v", lost, err)
		}
		m.lose = nil
		if _, err := open(m).Swap(t.Context(), ws, version, []byte("other")); err != nil {
			t.Fatal(err)
		}
		m.lose = lost
		if _, err := s.Swap(t.Context(), ws, version, []byte("2")); !errors.Is(err, backend.ErrChanged) {
			t.Errorf("%v: a write over another one: %v", lost, err)
		}
	}
}

func TestLockObject(t *testing.T) {
	m := &memory{objects: map[string]object{}}
	s := open(m)
	at := time.Date(2026, 11, 25, 1, 2, 3, 4, time.UTC)
	if _, err := s.Lock(t.Context(), ws,
		backend.LockInfo{ID: "a", Who: "w", Operation: "o", Version: "1", Created: at}); err != nil {
		t.Fatal(err)
	}
	want := `{"ID":"a","Operation":"o","Info":"","Who":"w","Version":"1","Created":"2026-11-25T01:02:03.000000004Z",` +
		`"Path":"bucket/states/default"}`
	if got := string(m.objects["states/default.lock"].data); got != want {
		t.Errorf("the lock object has %s, want %s", got, want)
	}
	s.ID = func(_ *backend.LockInfo, version string) string { return version }
	if err := s.Unlock(t.Context(), ws, "a"); err == nil ||
		!strings.Contains(err.Error(), `the lock has the ID "v1", not "a"`) {
		t.Error(err)
	}
	if err := s.Unlock(t.Context(), ws, "v1"); err != nil {
		t.Error(err)
	}
	if err := s.Unlock(t.Context(), ws, "v1"); err == nil || !strings.Contains(err.Error(), "isn't locked") {
		t.Error(err)
	}
}

func TestDamagedLock(t *testing.T) {
	data, _ := json.Marshal("text")
	s := open(&memory{objects: map[string]object{"states/default.lock": {data, "v1"}}})
	_, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "a"})
	_, held := errors.AsType[*backend.LockedError](err)
	if !held || !strings.Contains(err.Error(), "states/default.lock can't be read") {
		t.Errorf("a damaged lock: %v", err)
	}
}
