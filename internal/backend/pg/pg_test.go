package pg_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/pg"
	"tofu/internal/configs/blocks"
	"tofu/internal/testenv"
	"tofu/internal/testenv/pgtest"
	"tofu/internal/testenv/storetest"
	"tofu/internal/tfdiags"
)

const ws = backend.DefaultWorkspace

// connStr is the connection string of the test server. The tests break its sessions, so they start
// their own server. noServer is the reason why there is no server.
var connStr, noServer = "", ""

func TestMain(m *testing.M) {
	server, err := pgtest.Start()
	if err != nil {
		noServer = err.Error()
		os.Exit(m.Run())
	}
	connStr = server.Conn()
	code := m.Run()
	server.Close()
	os.Exit(code)
}

var schemas atomic.Int32

// config returns the configuration for a new schema.
func config(t *testing.T) map[string]cty.Value {
	t.Helper()
	if connStr == "" {
		testenv.Missing(t, noServer, "install PostgreSQL")
	}
	schema := fmt.Sprintf(`test "%d"`, schemas.Add(1))
	t.Cleanup(func() { query(t, "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE") })
	return map[string]cty.Value{"conn_str": cty.StringVal(connStr), "schema_name": cty.StringVal(schema)}
}

func open(t *testing.T, config map[string]cty.Value) *pg.Store {
	t.Helper()
	s, err := tryOpen(t, config)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*pg.Store)
}

func tryOpen(t *testing.T, config map[string]cty.Value) (backend.Store, error) {
	t.Helper()
	c := pg.Driver.Config()
	if err := blocks.Decode(cty.ObjectVal(config), c, func(string) string { return "" }, tfdiags.Drop); err != nil {
		t.Fatal(err)
	}
	return pg.Driver.Open(t.Context(), c)
}

// query runs a statement in a separate session.
func query(t *testing.T, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), connStr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// count returns the result of a query in a separate session.
func count(t *testing.T, sql string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), connStr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (backend.Store, backend.Store) {
		c := config(t)
		return open(t, c), open(t, c)
	})
}

// terminate ends all sessions that hold advisory locks, as a restarted server or a broken network
// would, and waits up to ten seconds until they are gone.
func terminate(t *testing.T) {
	query(t, "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory'")
}

func TestBrokenSession(t *testing.T) {
	c := config(t)
	a, b := open(t, c), open(t, c)
	id, err := a.Lock(t.Context(), ws, backend.LockInfo{ID: "a", Who: "me"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Put(t.Context(), ws, []byte("1")); err != nil {
		t.Fatal(err)
	}
	terminate(t)
	if err := a.Put(t.Context(), ws, []byte("2")); err == nil {
		t.Error("a write over a broken session succeeds") // this call detects the broken session
	}
	if err := a.Put(t.Context(), ws, []byte("2")); err != nil {
		t.Fatalf("no new session: %v", err)
	}
	var locked *backend.LockedError
	if _, err := b.Lock(t.Context(), ws, backend.LockInfo{ID: "b"}); !errors.As(err, &locked) ||
		locked.Info.ID != "a" || locked.Info.Who != "me" {
		t.Errorf("the lock wasn't taken again: %v", err)
	}
	terminate(t)
	if _, err := b.Lock(t.Context(), ws, backend.LockInfo{ID: "b"}); err != nil {
		t.Fatal(err)
	}
	_ = a.Put(t.Context(), ws, []byte("3"))
	if err := a.Put(t.Context(), ws, []byte("3")); err == nil ||
		!strings.Contains(err.Error(), "another process has since locked the state") {
		t.Errorf("writing without the lock: %v", err)
	}
	if data, _ := b.Get(t.Context(), ws); string(data) != "2" {
		t.Errorf("the state is %q", data)
	}
	if err := a.Unlock(t.Context(), ws, id); err != nil {
		t.Error(err)
	}
	if err := a.Unlock(t.Context(), ws, id); err == nil ||
		!strings.Contains(err.Error(), "ends with its holder's database session") {
		t.Errorf("unlocking another's: %v", err)
	}
}

// TestLockAsOpenTofu checks that a workspace is also locked by its row's ID, as OpenTofu does.
func TestLockAsOpenTofu(t *testing.T) {
	c := config(t)
	s := open(t, c)
	key := func() (n int64) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), connStr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		table := pgx.Identifier{c["schema_name"].AsString(), "states"}.Sanitize()
		if err := conn.QueryRow(t.Context(), "SELECT pg_try_advisory_lock(id)::int FROM "+table+" WHERE name = $1",
			ws).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	id, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), ws, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if key() != 0 {
		t.Error("a row that was made under the lock isn't locked")
	}
	if err := s.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	if key() != 1 {
		t.Error("the row is still locked")
	}
}

// TestLockHolds checks that a workspace is locked by name and by row, regardless of when the row is
// created, and that unlocking releases both locks.
func TestLockHolds(t *testing.T) {
	const held = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND " +
		"application_name LIKE 'tofu 0f9c42b1%'"
	for _, rows := range []int{0, 1} {
		c := config(t)
		a, b := open(t, c), open(t, c)
		if rows == 1 {
			if err := a.Put(t.Context(), ws, []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		who := strings.Repeat("ü", 20) // truncated in the middle of a character
		id, err := a.Lock(t.Context(), ws, backend.LockInfo{ID: "0f9c42b1-6a3e-4c52-9d58-1f1e7f0a1c2d", Who: who})
		if err != nil {
			t.Fatal(err)
		}
		var locked *backend.LockedError
		if _, err := b.Lock(t.Context(), ws, backend.LockInfo{ID: "b"}); !errors.As(err, &locked) ||
			locked.Info.ID != id {
			t.Errorf("the other store: %v", err)
		}
		if n := count(t, held); n != 1+rows {
			t.Errorf("%d rows: %d locks", rows, n)
		}
		if err := a.Unlock(t.Context(), ws, id); err != nil {
			t.Error(err)
		}
		if n := count(t, held); n != 0 {
			t.Errorf("%d rows: %d locks are left", rows, n)
		}
	}
}

func TestClose(t *testing.T) {
	s := open(t, config(t))
	if _, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "closing"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// Wait, because the server ends the session a moment later.
	for count(t, "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'tofu closing%'") != 0 {
		time.Sleep(10 * time.Millisecond)
	}
}

func TestCancelKeepsTheSession(t *testing.T) {
	c := config(t)
	a, b := open(t, c), open(t, c)
	if err := a.Put(t.Context(), ws, []byte("1")); err != nil {
		t.Fatal(err)
	}
	id, err := a.Lock(t.Context(), ws, backend.LockInfo{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		var canceled sync.WaitGroup
		canceled.Go(cancel)
		_ = a.Put(ctx, ws, bytes.Repeat([]byte("x"), i*100_000))
		canceled.Wait()
	}
	var locked *backend.LockedError
	if _, err := b.Lock(t.Context(), ws, backend.LockInfo{ID: "b"}); !errors.As(err, &locked) {
		t.Errorf("canceled writes cost the lock: %v", err)
	}
	// Using a here keeps its session from being garbage collected before b has tried to lock.
	if err := a.Unlock(t.Context(), ws, id); err != nil {
		t.Error(err)
	}
}

func TestSkippedCreation(t *testing.T) {
	c := config(t)
	for _, name := range []string{"skip_schema_creation", "skip_table_creation", "skip_index_creation"} {
		c[name] = cty.True
	}
	s, err := tryOpen(t, c)
	if err == nil {
		_, err = s.Get(t.Context(), ws)
	}
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a missing table: %v", err)
	}
}

func TestNoDatabase(t *testing.T) {
	for conn, want := range map[string]string{
		"postgres://u:hunter2@127.0.0.1:1/x": "connecting to the database",
		"postgres://u:hunter2@[":             "connection string",
	} {
		c := &pg.Config{ConnStr: conn}
		_, err := pg.Driver.Open(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
