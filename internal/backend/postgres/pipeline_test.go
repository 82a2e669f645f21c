package postgres_test

import (
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tofu/internal/backend/postgres"
	"tofu/internal/plans"
	"tofu/internal/states/statemgr"
)

// proxy starts a proxy between the stores of c and the server. It applies the function change to
// everything that the server sends. The result counts the messages after which a store waits for a
// response.
func proxy(t *testing.T, c *postgres.Config, change func([]byte) []byte) (trips *atomic.Int32) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "proxy") // socket paths must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	const socket = "/.s.PGSQL.5432"
	listener, err := net.Listen("unix", dir+socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	trips = new(atomic.Int32)
	// pass copies what one side sends to the other.
	pass := func(to, from net.Conn, through func([]byte) []byte) {
		defer to.Close()
		buffer := make([]byte, 1<<16)
		for {
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			if _, err := to.Write(through(buffer[:n])); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			real, err := net.Dial("unix", server.Dir()+socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			var answered atomic.Bool
			answered.Store(true)
			go pass(real, client, func(text []byte) []byte {
				if answered.Swap(false) {
					trips.Add(1)
				}
				return text
			})
			go pass(client, real, func(text []byte) []byte {
				answered.Store(true)
				return change(text)
			})
		}
	}()
	c.ConnStr = strings.Replace(c.ConnStr, server.Dir(), dir, 1)
	return trips
}

// TestRoundTrips checks the number of round trips to the server in a run.
func TestRoundTrips(t *testing.T) {
	c := config(t)
	fill(t, manager(t, open(t, c)), 3)
	trips := proxy(t, c, func(text []byte) []byte { return text })
	s := open(t, c)
	loaded, err := s.LoadState(t.Context(), ws, nil) // this also opens the connection
	if err != nil {
		t.Fatal(err)
	}
	at := addr("a", 0)
	run := s.NewRun(ws, nil, statemgr.NewLockInfo("apply"))
	footprint := &plans.Footprint{Revision: loaded.Revision, Writes: []plans.Write{{Addr: at, Existed: true}}}
	change := &statemgr.Change{Base: loaded.Revision, Objects: []statemgr.ObjectChange{{
		ObjectID: statemgr.ObjectID{Addr: at}, Object: object("new"), Provider: provider, Existed: true}}}
	for _, step := range []struct {
		name string
		most int32
		do   func() error
	}{
		{"reading a state", 2, func() error { _, err := s.LoadState(t.Context(), ws, nil); return err }},
		{"claims", 3, func() error { return run.Claim(t.Context(), footprint) }},
		{"the start of a step", 1, func() error {
			return run.Start(t.Context(), func() []*statemgr.Operation {
				return []*statemgr.Operation{{Addr: at, Action: plans.Update, Provider: provider}}
			})
		}},
		{"its result", 2, func() error {
			_, _, err := run.Write(t.Context(), func() *statemgr.Change { return change })
			return err
		}},
		{"the end", 1, func() error { return run.Close(t.Context()) }},
		{"opening", 2, func() error { open(t, c); return nil }}, // one of them opens the connection
	} {
		before := trips.Load()
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if n := trips.Load() - before; n > step.most {
			t.Errorf("%s takes %d round trips, and should take %d", step.name, n, step.most)
		}
	}
}

// TestNoDeadlocks checks that runs that start steps and store results at the same time never
// deadlock. Each deadlock costs a second.
func TestNoDeadlocks(t *testing.T) {
	c := config(t)
	deadlocks := func() string {
		return query(t, c, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
	}
	before := deadlocks()
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		s, err := postgres.Driver.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		store := s.(*postgres.Store)
		run := store.NewRun(ws, nil, statemgr.NewLockInfo("apply"))
		f := &plans.Footprint{}
		for i := range 40 {
			f.Writes = append(f.Writes, plans.Write{Addr: addr(name, i)})
		}
		if err := run.Claim(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer store.Close() // the server updates its counters when a session ends
			var steps sync.WaitGroup
			for i := range 2 {
				steps.Go(func() {
					for j := range 20 {
						id := statemgr.ObjectID{Addr: addr(name, 20*i+j)}
						if err := run.Start(t.Context(), func() []*statemgr.Operation {
							return []*statemgr.Operation{{Addr: id.Addr, Action: plans.Create, Provider: provider}}
						}); err != nil {
							t.Error(err)
						}
						change := &statemgr.Change{Lineage: "l", Ended: []statemgr.ObjectID{id}, Objects: []statemgr.ObjectChange{
							{ObjectID: id, Object: object("x"), Provider: provider}}}
						if _, _, err := run.Write(t.Context(), func() *statemgr.Change { return change }); err != nil {
							t.Error(err)
						}
					}
				})
			}
			steps.Wait()
			if err := run.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	time.Sleep(100 * time.Millisecond) // sessions end shortly after their connections are closed
	if after := deadlocks(); after != before {
		t.Errorf("the server has counted %s deadlocks, and %s before", after, before)
	}
	if got := query(t, c, "SELECT count(*) FROM object"); got != "160" {
		t.Errorf("there are %s objects", got)
	}
}
