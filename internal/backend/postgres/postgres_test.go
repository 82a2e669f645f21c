package postgres_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/backend/postgres"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/testenv"
	"tofu/internal/testenv/pgtest"
	"tofu/internal/tfdiags"
)

const ws = backend.DefaultWorkspace

// server is the test server. The tests break its sessions, so they start their own server. noServer
// is the reason why server is nil.
var (
	server   *pgtest.Server
	noServer string
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(workerVariable); spec != "" {
		os.Exit(work(spec))
	}
	var err error
	if server, err = pgtest.Start(); err != nil {
		noServer = err.Error()
		os.Exit(m.Run())
	}
	code := m.Run()
	server.Close()
	os.Exit(code)
}

var schemas atomic.Int32

// config returns the configuration for a new schema.
func config(t testing.TB) *postgres.Config {
	t.Helper()
	if server == nil {
		testenv.Missing(t, noServer, "install PostgreSQL")
	}
	schema := fmt.Sprintf(`test "%d"`, schemas.Add(1))
	t.Cleanup(func() { execute(t, "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE") })
	return &postgres.Config{ConnStr: server.Conn(), Schema: schema}
}

func open(t testing.TB, c *postgres.Config) *postgres.Store {
	t.Helper()
	s, err := postgres.Driver.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	store := s.(*postgres.Store)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// execute runs a statement in a separate session.
func execute(t testing.TB, sql string, args ...any) {
	t.Helper()
	administrate(t, server.Conn(), sql, args...)
}

// administrate runs a statement in a session with the given connection string.
func administrate(t testing.TB, connection, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), connection)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// query runs a SELECT statement in the schema and returns its only value as text.
func query(t testing.TB, c *postgres.Config, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), server.Conn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), "SET search_path TO "+pgx.Identifier{c.Schema}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	var out *string
	if err := conn.QueryRow(context.Background(), "SELECT ("+sql+")::text").Scan(&out); err != nil {
		t.Fatal(err)
	}
	if out == nil {
		return "NULL"
	}
	return *out
}

// document is a state file with every kind of part, and with JSON that a JSONB column would change.
const document = `{
  "version": 4, "terraform_version": "1.12.6", "serial": 7, "lineage": "0c2f8a4e-6a3e-4c52-9d58-1f1e7f0a1c2d",
  "outputs": {
    "plain": {"value": {"b": 1.10, "a": [true, null]}, "type": ["object", {"a": ["tuple", ["bool", "dynamic"]], "b": "number"}]},
    "secret": {"value": "hunter2", "type": "string", "sensitive": true, "deprecated": "old"}
  },
  "resources": [
    {"mode": "managed", "type": "lab_object", "name": "a", "provider": "provider[\"registry.opentofu.org/hashicorp/lab\"]",
     "instances": [
       {"index_key": 0, "schema_version": 2, "attributes": {"zeta": 1, "alpha": 12345678901234567890123456789.100, "e": 1e3,
          "neg": -0, "password": "hunter2", "list": [{"token": "hunter2", "id": "x"}], "text": "<&> é \" \\ ü"},
        "sensitive_attributes": [[{"type": "get_attr", "value": "password"}],
          [{"type": "get_attr", "value": "list"}, {"type": "index", "value": {"value": 0, "type": "number"}}, {"type": "get_attr", "value": "token"}]],
        "private": "cHJpdmF0ZQ==", "dependencies": ["data.lab_info.i", "module.m.lab_object.b"],
        "create_before_destroy": true, "identity": {"id": "x"}, "identity_schema_version": 1},
       {"index_key": 0, "deposed": "0a1b2c3d", "status": "tainted", "schema_version": 0, "attributes": {"nul": "a\u0000b"}, "sensitive_attributes": []},
       {"index_key": 10, "schema_version": 0, "attributes": {"huge": 1e100000}, "sensitive_attributes": []}
     ]},
    {"mode": "managed", "type": "lab_object", "name": "empty", "provider": "provider[\"registry.opentofu.org/hashicorp/lab\"]", "instances": []},
    {"module": "module.m[\"k.\\\"]\"]", "mode": "managed", "type": "lab_object", "name": "b",
     "instances": [
       {"index_key": "é\"", "provider": "provider[\"registry.opentofu.org/hashicorp/lab\"].by[\"z\"]", "schema_version": 0,
        "attributes_flat": {"id": "x"}, "sensitive_attributes": []}
     ]},
    {"mode": "data", "type": "lab_info", "name": "i", "provider": "provider[\"registry.opentofu.org/hashicorp/lab\"].west",
     "instances": [{"schema_version": 0, "attributes": {}, "sensitive_attributes": []}]}
  ],
  "check_results": [
    {"object_kind": "check", "config_addr": "check.c", "status": "fail",
     "objects": [{"object_addr": "check.c", "status": "fail", "failure_messages": ["no"]}]},
    {"object_kind": "output", "config_addr": "output.plain", "status": "unknown", "objects": null}
  ],
  "dependency_instances": [{"object": "lab_object.a[0]", "instances": ["module.m[\"k.\\\"]\"].lab_object.b[\"x\"]"]}]
}`

// canonical returns a state file in this program's form.
func canonical(t testing.TB, data []byte) string {
	t.Helper()
	file, err := statefile.Parse(data)
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	text, err := statefile.Encode(file, &statefile.Options{Indent: true})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDocuments(t *testing.T) {
	c := config(t)
	a, b := open(t, c), open(t, c)
	if data, err := a.Get(t.Context(), ws); data != nil || err != nil {
		t.Errorf("an empty store has %q, %v", data, err)
	}
	if err := a.Put(t.Context(), ws, []byte(document)); err != nil {
		t.Fatal(err)
	}
	got, err := b.Get(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(canonical(t, []byte(document)), canonical(t, got)); diff != "" {
		t.Error(diff)
	}
	outputs, err := b.GetOutputs(t.Context(), ws)
	if err != nil || !strings.Contains(string(outputs), "hunter2") || strings.Contains(string(outputs), "lab_object") {
		t.Errorf("the outputs are %s, %v", outputs, err)
	}
	for sql, want := range map[string]string{
		"SELECT attributes->>'alpha' FROM object WHERE address = 'lab_object.a[0]' AND deposed = ''": "12345678901234567890123456789.100",
		"SELECT count(*) FROM object WHERE attributes::text LIKE '%hunter2%'":                        "0",
		"SELECT count(*) FROM output WHERE value::text LIKE '%hunter2%'":                             "0",
		"SELECT count(*) FROM object WHERE attributes IS NULL":                                       "3", // "nul", "huge", flat
		"SELECT attributes #>> '{list,0}' FROM object WHERE attributes ? 'list'":                     `{"id": "x"}`,
		"SELECT dependencies::text FROM object WHERE attributes ? 'list'":                            "{data.lab_info.i,module.m.lab_object.b}",
	} {
		if got := query(t, c, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	// Writing the same document again changes no rows other than the revision.
	before := query(t, c, "SELECT max(since) FROM (SELECT since FROM object UNION ALL SELECT since FROM output) x")
	if err := b.Put(t.Context(), ws, got); err != nil {
		t.Fatal(err)
	}
	if after := query(t, c, "SELECT max(since) FROM (SELECT since FROM object UNION ALL SELECT since FROM output) x"); after != before {
		t.Errorf("rows of an equal state were written, in revision %s", after)
	}
	if err := a.Put(t.Context(), ws, []byte(`{"version":4,"serial":9,"lineage":"other"}`)); err != nil {
		t.Fatal(err)
	}
	if got := query(t, c, "SELECT count(*) FROM object"); got != "0" {
		t.Errorf("%s objects are left", got)
	}
	if got := query(t, c, "SELECT count(*) FROM object_history"); got != "5" {
		t.Errorf("the history has %s objects", got)
	}
	if err := a.Put(t.Context(), ws, []byte(`not a state`)); err == nil {
		t.Error("a text that isn't a state was written")
	}
}

func TestWorkspaces(t *testing.T) {
	c := config(t)
	a, b := open(t, c), open(t, c)
	names := []string{"b", "a-long-name_with.dots", "a", "ä"}
	for i, name := range names {
		if err := a.Put(t.Context(), name, fmt.Appendf(nil, `{"version":4,"serial":%d,"lineage":"x"}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	if got, err := b.List(t.Context()); err != nil || !slices.Equal(got, names) {
		t.Errorf("%q, %v", got, err)
	}
	if err := b.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), "a"); err != nil {
		t.Errorf("deleting nothing: %v", err)
	}
	if data, err := a.Get(t.Context(), "a"); data != nil || err != nil {
		t.Errorf("after Delete: %q, %v", data, err)
	}
	if data, err := a.Get(t.Context(), "b"); err != nil || !strings.Contains(string(data), `"serial":0`) {
		t.Errorf("%q, %v", data, err)
	}
}

func TestMigrations(t *testing.T) {
	c := config(t)
	// Several stores that create the schema at the same time wait for one another.
	errs := make(chan error)
	for range 4 {
		go func() {
			s, err := postgres.Driver.Open(context.Background(), c)
			if err == nil {
				err = s.(*postgres.Store).Close()
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	execute(t, "INSERT INTO "+pgx.Identifier{c.Schema, "schema_version"}.Sanitize()+" VALUES (1000, '9.9.9')")
	if _, err := postgres.Driver.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "a newer program has upgraded it") {
		t.Errorf("a newer schema: %v", err)
	}
}

func TestBadServers(t *testing.T) {
	for conn, want := range map[string]string{
		"postgres://u:hunter2@127.0.0.1:1/x?connect_timeout=1": "preparing the database",
		"postgres://u:hunter2@[":                               "connection string",
	} {
		restore := postgres.SetRetry(0)
		_, err := postgres.Driver.Open(t.Context(), &postgres.Config{ConnStr: conn, Schema: "x"})
		restore()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := postgres.CheckServer(120019); err == nil || !strings.Contains(err.Error(), "PostgreSQL 12") {
		t.Errorf("an old server: %v", err)
	}
	if err := postgres.CheckServer(130000); err != nil {
		t.Error(err)
	}
}

func TestNoPrivilege(t *testing.T) {
	c := config(t)
	execute(t, "DROP ROLE IF EXISTS nobody_here")
	execute(t, "CREATE ROLE nobody_here LOGIN")
	t.Cleanup(func() { execute(t, "DROP ROLE nobody_here") })
	c.ConnStr = strings.Replace(c.ConnStr, "user=tester", "user=nobody_here", 1)
	if _, err := postgres.Driver.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "Create the schema") {
		t.Errorf("without the right to create a schema: %v", err)
	}
}

// Helpers for runs:

var provider = addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.DefaultProvider("lab")}}

func addr(name string, key int) addrs.AbsInstance {
	return addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "lab_object", Name: name}, Key: addrs.IntKey(key)}
}

func object(id string, deps ...string) *states.Object {
	var list []addrs.ConfigResource
	for _, name := range deps {
		list = append(list, addr(name, 0).Config())
	}
	return &states.Object{Attrs: fmt.Appendf(nil, `{"id":%q}`, id), Dependencies: states.NewDependencies(list),
		SensitivePaths: []cty.Path{cty.GetAttrPath("secret")}}
}

func manager(t testing.TB, s *postgres.Store) *statemgr.Manager {
	t.Helper()
	return statemgr.Open(s, ws, &statemgr.Options{DataDir: t.TempDir(), WorkDir: t.TempDir()})
}

func read(t testing.TB, m *statemgr.Manager) *statemgr.Snapshot {
	t.Helper()
	snap, err := m.Read(t.Context(), tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// TestStatementTimeout checks that a statement that waits for too long is retried, and that the
// parameter statement_timeout of the connection string takes effect.
func TestStatementTimeout(t *testing.T) {
	c := config(t)
	c.ConnStr += " statement_timeout=150"
	m := manager(t, open(t, c))
	fill(t, m, 1)
	conn, err := pgx.Connect(t.Context(), server.Conn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "LOCK TABLE "+table(c, "workspace"))
	}
	if err != nil {
		t.Fatal(err)
	}
	restore := postgres.SetRetry(0)
	_, err = open(t, c).List(t.Context())
	restore()
	if err == nil || !strings.Contains(err.Error(), "statement timeout") {
		t.Errorf("while the table is locked: %v", err)
	}
	saved := make(chan error)
	go func() { saved <- m.Save(context.Background(), states.New()) }()
	time.Sleep(400 * time.Millisecond)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-saved; err != nil {
		t.Errorf("saving: %v", err)
	}
}
