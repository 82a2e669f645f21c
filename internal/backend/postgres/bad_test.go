package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/backend/postgres"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/testenv"
	"tofu/internal/testenv/pgtest"
)

// refused checks that a run can't begin and that the state can't be replaced. Both errors must
// contain want, and the state must not change.
func refused(t *testing.T, c *postgres.Config, want string) {
	t.Helper()
	m := manager(t, open(t, c))
	snap := read(t, m)
	restore := postgres.SetRetry(0)
	defer restore()
	err := m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, addr("a", 0))})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an apply: %v, want %s", err, want)
	}
	_ = m.Unlock()
	if err := open(t, c).Put(t.Context(), ws, []byte(`{"version":4,"serial":99,"lineage":"other"}`)); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("replacing the state: %v, want %s", err, want)
	}
	if after := read(t, manager(t, open(t, c))); !statefile.Equal(after.State, snap.State) || after.Serial != snap.Serial ||
		len(after.Interrupted) != 0 {
		t.Error("the state was changed")
	}
}

// TestReadOnlyRole checks the error of an apply by a user who may only read.
func TestReadOnlyRole(t *testing.T) {
	c := config(t)
	fill(t, manager(t, open(t, c)), 1)
	reader := role(t, c, "r_reader")
	if _, err := rows(t, c, "", "SELECT grant_access('r_reader', NULL, 'state')"); err != nil {
		t.Fatal(err)
	}
	refused(t, reader, "needs the rights on the schema")
}

// TestStandby checks that a standby server can be read, and that other operations report errors.
func TestStandby(t *testing.T) {
	if server == nil {
		testenv.Missing(t, noServer, "install PostgreSQL")
	}
	primary, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer primary.Close()
	standby, err := primary.Standby()
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close()
	restore := postgres.SetRetry(0)
	_, err = postgres.Driver.Open(t.Context(), &postgres.Config{ConnStr: standby.Conn(), Schema: "tofu"})
	restore()
	if err == nil || !strings.Contains(err.Error(), "The server accepts only reads") {
		t.Errorf("a standby without the schema: %v", err)
	}
	c := &postgres.Config{ConnStr: primary.Conn() + " options='-c synchronous_commit=remote_apply'", Schema: "tofu"}
	fill(t, manager(t, open(t, c)), 2)
	refused(t, &postgres.Config{ConnStr: standby.Conn(), Schema: "tofu"}, "The server accepts only reads")
}

// TestBusyWorkspace checks the errors of runs while another program holds the lock of a workspace,
// as a large migration does. It also checks the error of a run whose state was replaced in the
// meantime.
func TestBusyWorkspace(t *testing.T) {
	c := config(t)
	fill(t, manager(t, open(t, c)), 2)
	early := manager(t, open(t, c))
	before := read(t, early)

	conn, err := pgx.Connect(t.Context(), server.Conn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "SELECT FROM "+table(c, "workspace")+" FOR UPDATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	hasty := *c
	hasty.ConnStr += " statement_timeout=100"
	refused(t, &hasty, "another program may hold the workspace")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := open(t, c).Put(t.Context(), ws, []byte(`{"version":4,"serial":99,"lineage":"migrated"}`)); err != nil {
		t.Fatal(err)
	}
	err = early.Begin(t.Context(), &statemgr.Run{State: before.State, Footprint: footprintOf(before, addr("a", 0))})
	if changed := changedBy(err); changed == nil {
		t.Errorf("a plan from before a migration: %v", err)
	}
	_ = early.Unlock()

	// Replacing the state fails while a run is in progress.
	m := manager(t, open(t, c))
	snap := read(t, m)
	f := &plans.Footprint{Revision: snap.Revision, Writes: []plans.Write{{Addr: addr("a", 0)}}}
	if err := m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: f}); err != nil {
		t.Fatal(err)
	}
	err = open(t, c).Put(t.Context(), ws, []byte(`{"version":4,"serial":100,"lineage":"again"}`))
	if !errors.As(err, new(*backend.LockedError)) {
		t.Errorf("a migration during a run: %v", err)
	}
	if err := m.Unlock(); err != nil {
		t.Error(err)
	}
}

// firstVersion inserts a state into a schema of version 1: an object with an earlier version, a
// deposed object, a resource in a module, and an output.
const firstVersion = `
INSERT INTO workspace (name, lineage, serial, revision, fence, program) VALUES ('default', 'old', 2, 2, 2, '1.0.0');
INSERT INTO run (id, workspace, operation, who, process, program, fence, lease, ended, outcome) VALUES
	('run-1', 1, 'OperationTypeApply', 'a@b', 'process 1', '1.0.0', 1, now(), now(), 'done'),
	('run-2', 1, 'OperationTypeApply', 'c@d', 'process 2', '1.0.0', 2, now(), now(), 'done');
INSERT INTO revision (workspace, id, serial, run) VALUES (1, 1, 1, 'run-1'), (1, 2, 2, 'run-2');
INSERT INTO resource (workspace, address, config, module, mode, type, name, provider, since) VALUES
	(1, 'lab_object.a', 'lab_object.a', '', 'managed', 'lab_object', 'a', 'PROVIDER', 1),
	(1, 'module.m.lab_object.b', 'module.m.lab_object.b', 'module.m', 'managed', 'lab_object', 'b', 'PROVIDER', 2);
INSERT INTO object (workspace, address, deposed, resource, config, instance_key, provider, status, schema_version,
		dependencies, dependency_instances, attributes, encrypted, document, since) VALUES
	(1, 'lab_object.a[0]', '', 'lab_object.a', 'lab_object.a', '0', 'PROVIDER', 'ready', 0, '{}', '{}', '{"id":"new"}',
		false, '{"schema_version":0,"attributes":{"id":"new"},"sensitive_attributes":[]}', 2),
	(1, 'lab_object.a[0]', '0a1b2c3d', 'lab_object.a', 'lab_object.a', '0', 'PROVIDER', 'ready', 0, '{}', '{}', '{"id":"dep"}',
		false, '{"schema_version":0,"attributes":{"id":"dep"},"sensitive_attributes":[]}', 1),
	(1, 'module.m.lab_object.b', '', 'module.m.lab_object.b', 'module.m.lab_object.b', NULL, 'PROVIDER', 'ready', 0,
		'{lab_object.a}', '{}', '{"id":"b"}', false,
		'{"schema_version":0,"attributes":{"id":"b"},"sensitive_attributes":[],"dependencies":["lab_object.a"]}', 2);
INSERT INTO object_history SELECT o.*, 2 FROM (SELECT workspace, address, deposed, resource, config, instance_key, provider,
	status, schema_version, dependencies, dependency_instances, '{"id":"old"}'::jsonb, encrypted,
	'{"schema_version":0,"attributes":{"id":"old"},"sensitive_attributes":[]}', 1::bigint
	FROM object WHERE address = 'lab_object.a[0]' AND deposed = '') o;
INSERT INTO key_set (workspace, config, since) VALUES (1, 'lab_object.a', 1), (1, 'module.m.lab_object.b', 2);
INSERT INTO output (workspace, name, sensitive, value, encrypted, document, since) VALUES
	(1, 'o', false, '"x"', false, '{"value":"x","type":"string"}', 2);
`

// oldSchema creates a schema of version 1 with a state.
func oldSchema(t *testing.T, c *postgres.Config) {
	t.Helper()
	first, err := os.ReadFile("schema/0001.sql")
	if err != nil {
		t.Fatal(err)
	}
	schema := pgx.Identifier{c.Schema}.Sanitize()
	execute(t, "CREATE SCHEMA "+schema+"; SET search_path TO "+schema+"; CREATE TABLE schema_version (version int PRIMARY KEY, "+
		"program text NOT NULL, at timestamptz NOT NULL DEFAULT now()); INSERT INTO schema_version VALUES (1, '1.0.0'); "+
		string(first)+strings.ReplaceAll(firstVersion, "PROVIDER", `provider["registry.opentofu.org/hashicorp/lab"]`))
}

// TestUpgrade checks that a schema of version 1 is upgraded with all of its data.
func TestUpgrade(t *testing.T) {
	c := config(t)
	oldSchema(t, c)
	m := manager(t, open(t, c))
	snap := read(t, m)
	want := states.New()
	module := addrs.AbsInstance{Module: "module.m", Resource: addrs.Resource{Mode: addrs.Managed, Type: "lab_object", Name: "b"}}
	plain := func(id string, deps ...string) *states.Object {
		obj := object(id, deps...)
		obj.SensitivePaths = nil
		return obj
	}
	want.SetCurrent(addr("a", 0), plain("new"), provider)
	want.SetDeposed(addr("a", 0), "0a1b2c3d", plain("dep"), provider)
	want.SetCurrent(module, plain("b", "a"), provider)
	if out := snap.State.Output("o"); out == nil || out.Value.AsString() != "x" {
		t.Errorf("the output is %v", out)
	}
	want.SetOutput("o", snap.State.Output("o"))
	if !statefile.Equal(snap.State, want) || snap.Serial != 2 || snap.Lineage != "old" {
		t.Errorf("the state is different: serial %d, lineage %s", snap.Serial, snap.Lineage)
	}
	past := manager(t, open(t, c))
	read(t, past)
	moment, err := open(t, c).Moment(t.Context(), ws, "run-1")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := open(t, c).LoadStateAt(t.Context(), ws, moment, nil)
	if err != nil || loaded.State.Instance(addr("a", 0)) == nil ||
		!strings.Contains(string(loaded.State.Instance(addr("a", 0)).Current.Attrs), "old") {
		t.Errorf("the history: %v, %v", loaded, err)
	}
	for sql, want := range map[string]string{
		"SELECT count(*) FROM instances":                                                      "3",
		"SELECT changed_by FROM instances WHERE address = 'module.m.lab_object.b'":            "c@d",
		"SELECT before->>'id' FROM changes WHERE kind = 'instance' AND action = 'update'":     "old",
		"SELECT max(version) - min(version) + 1 = count(*) FROM schema_version":               "true",
		"SELECT depends_on FROM dependencies WHERE address = 'module.m.lab_object.b' LIMIT 1": "lab_object.a",
	} {
		if got := query(t, c, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	next := snap.State.Clone()
	next.SetCurrent(addr("a", 0), object("newer"), provider)
	if err := m.Save(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if after := read(t, manager(t, open(t, c))); !statefile.Equal(after.State, next) || after.Serial != 3 {
		t.Errorf("after a change the state has serial %d, or is different", after.Serial)
	}
}

// TestUpgradeDuringRun checks that a schema is not upgraded while a run of an older program is
// running, and that a run can't begin after a newer program has upgraded the schema.
func TestUpgradeDuringRun(t *testing.T) {
	c := config(t)
	oldSchema(t, c)
	execute(t, "INSERT INTO "+table(c, "run")+" (id, workspace, operation, who, process, program, fence, lease) VALUES "+
		"('run-3', 1, 'OperationTypeApply', 'e@f', 'process 3', '1.0.0', 3, now() + interval '1 hour')")
	_, err := postgres.Driver.Open(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "the run run-3 of e@f (OperationTypeApply) is in progress") {
		t.Errorf("opening: %v", err)
	}
	if got := query(t, c, "SELECT max(version) FROM schema_version"); got != "1" {
		t.Errorf("the schema has version %s", got)
	}
	execute(t, "UPDATE "+table(c, "run")+" SET lease = now()")
	m := manager(t, open(t, c))
	snap := read(t, m)
	execute(t, "INSERT INTO "+table(c, "schema_version")+" VALUES (1000, '9.9.9')")
	err = m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, addr("a", 0))})
	if err == nil || !strings.Contains(err.Error(), "a newer program has upgraded it") {
		t.Errorf("beginning: %v", err)
	}
	if got := query(t, c, "SELECT count(*) FROM claim"); got != "0" {
		t.Errorf("the run has %s claims", got)
	}
}

// TestFailedUpgrade checks that a failed upgrade leaves the schema unchanged and can be repeated.
func TestFailedUpgrade(t *testing.T) {
	c := config(t)
	oldSchema(t, c)
	execute(t, "CREATE TABLE "+table(c, "changes")+" ()") // takes the name of a view that the upgrade creates
	if _, err := postgres.Driver.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "upgrading the schema to version 2") {
		t.Errorf("%v", err)
	}
	for sql, want := range map[string]string{
		"SELECT max(version) FROM schema_version": "1",
		"SELECT count(*) FROM object":             "3",
		"SELECT count(*) FROM pg_class WHERE relname = 'access' AND relnamespace = quote_ident(current_schema())::regnamespace": "0",
	} {
		if got := query(t, c, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	execute(t, "DROP TABLE "+table(c, "changes"))
	if snap := read(t, manager(t, open(t, c))); snap.Serial != 2 {
		t.Errorf("after the upgrade the serial is %d", snap.Serial)
	}
}

// TestOldServer checks the error with a server that reports an unsupported version. A proxy changes
// the version that the real server reports.
func TestOldServer(t *testing.T) {
	c := config(t)
	version := query(t, c, "current_setting('server_version_num')")
	proxy(t, c, func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(version), []byte("120019")) })
	_, err := postgres.Driver.Open(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "PostgreSQL 12, but the oldest supported version is 13") {
		t.Errorf("%v", err)
	}
	if got := query(t, c, "SELECT count(*) FROM pg_namespace WHERE nspname = '"+c.Schema+"'"); got != "0" {
		t.Error("the schema was created")
	}
}
