package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tofu/internal/backend"
	"tofu/internal/backend/postgres"
)

// put writes a state with objects and outputs, which are given as "name=value".
func put(t testing.TB, s *postgres.Store, workspace string, serial int, objects, outputs []string) {
	t.Helper()
	var instances, values []string
	for _, o := range objects {
		name, value, _ := strings.Cut(o, "=")
		instances = append(instances, fmt.Sprintf(`{"mode":"managed","type":"lab_object","name":%q,
			"provider":"provider[\"registry.opentofu.org/hashicorp/lab\"]","instances":[{"schema_version":0,
			"attributes":{"id":%q,"password":"hunter2"},"dependencies":["lab_object.base"],
			"sensitive_attributes":[[{"type":"get_attr","value":"password"}]]}]}`, name, value))
	}
	for _, o := range outputs {
		name, value, _ := strings.Cut(o, "=")
		values = append(values, fmt.Sprintf(`%q:{"value":%q,"type":"string","sensitive":%t}`, name, value, name == "secret"))
	}
	text := fmt.Sprintf(`{"version":4,"serial":%d,"lineage":"x","resources":[%s],"outputs":{%s}}`, serial,
		strings.Join(instances, ","), strings.Join(values, ","))
	if err := s.Put(t.Context(), workspace, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// rows returns the rows of a query in the schema, one per line, with the values of a row separated
// by spaces. role is "" for the administrator.
func rows(t testing.TB, c *postgres.Config, role, sql string) (string, error) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), server.Conn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if role != "" {
		if _, err := conn.Exec(t.Context(), "SET ROLE "+role); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), "SET search_path TO "+pgx.Identifier{c.Schema}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	result := conn.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
	var lines []string
	for _, row := range result.Rows {
		var values []string
		for _, v := range row {
			if v == nil {
				v = []byte("NULL")
			}
			values = append(values, string(v))
		}
		lines = append(lines, strings.Join(values, " "))
	}
	return strings.Join(lines, "\n"), result.Err
}

func TestViews(t *testing.T) {
	c := config(t)
	s := open(t, c)
	put(t, s, ws, 1, []string{"a=1", "b=1"}, []string{"x=1", "secret=hunter2"})
	put(t, s, ws, 2, []string{"a=2", "b=1"}, []string{"x=2"})
	put(t, s, ws, 3, []string{"b=1"}, []string{"x=2"})
	put(t, s, "other", 1, []string{"a=other"}, nil)
	for sql, want := range map[string]string{
		"SELECT workspace, address, module, mode, type, name, instances FROM resources ORDER BY 1, 2": "" +
			"default lab_object.b  managed lab_object b 1\nother lab_object.a  managed lab_object a 1",
		"SELECT workspace, address, key, status, attributes, revision, run IS NULL FROM instances ORDER BY 1, 2": "" +
			"default lab_object.b NULL ready {\"id\": \"1\"} 1 f\nother lab_object.a NULL ready {\"id\": \"other\"} 1 f",
		"SELECT name, value, revision FROM outputs": `x "2" 2`,
		"SELECT workspace, address FROM dependencies WHERE depends_on = 'lab_object.base' ORDER BY 1": "" +
			"default lab_object.b\nother lab_object.a",
		"SELECT workspace, operation, outcome, ended >= started, count(*) FROM runs GROUP BY 1, 2, 3, 4 ORDER BY 1": "" +
			"default put done t 3\nother put done t 1",
		"SELECT revision, kind, address, action, before, after FROM changes WHERE workspace = 'default' ORDER BY 1, 2, 3": "" +
			`1 instance lab_object.a create NULL {"id": "1"}` + "\n" +
			`1 instance lab_object.b create NULL {"id": "1"}` + "\n" +
			`1 output secret create NULL NULL` + "\n" +
			`1 output x create NULL "1"` + "\n" +
			`2 instance lab_object.a update {"id": "1"} {"id": "2"}` + "\n" +
			`2 output secret delete NULL NULL` + "\n" +
			`2 output x update "1" "2"` + "\n" +
			`3 instance lab_object.a delete {"id": "2"} NULL`,
	} {
		if got, err := rows(t, c, "", sql); err != nil || got != want {
			t.Errorf("%s:\n%s, %v, want\n%s", sql, got, err, want)
		}
	}
	for _, view := range []string{"resources", "instances", "outputs", "dependencies", "runs", "changes"} {
		if got, err := rows(t, c, "", "SELECT v::text FROM "+view+" v"); err != nil || strings.Contains(got, "hunter2") {
			t.Errorf("%s has sensitive values: %v\n%s", view, err, got)
		}
	}
}

// role creates a role that can log in, for the test.
func role(t testing.TB, c *postgres.Config, name string) *postgres.Config {
	t.Helper()
	execute(t, "CREATE ROLE "+name+" LOGIN")
	t.Cleanup(func() { execute(t, "DROP OWNED BY "+name+"; DROP ROLE "+name) })
	return &postgres.Config{ConnStr: strings.Replace(c.ConnStr, "user=tester", "user="+name, 1), Schema: c.Schema}
}

func TestRoles(t *testing.T) {
	c := config(t)
	s := open(t, c)
	put(t, s, "a", 1, []string{"o=a"}, []string{"x=a", "secret=hunter2"})
	put(t, s, "b", 1, []string{"o=b"}, []string{"x=b"})
	roles := map[string]*postgres.Config{}
	grants := []struct{ role, workspace, level string }{
		{"r_outputs", "'a'", "outputs"}, {"r_views", "'a'", "views"}, {"r_state", "'a'", "state"},
		{"r_write", "'a'", "write"}, {"r_all", "NULL", "write"},
	}
	for _, g := range grants {
		roles[g.role] = role(t, c, g.role)
		if _, err := rows(t, c, "", fmt.Sprintf("SELECT grant_access('%s', %s, '%s')", g.role, g.workspace, g.level)); err != nil {
			t.Fatal(err)
		}
	}
	const denied = "permission denied"
	for _, test := range []struct{ role, sql, want string }{
		{"r_outputs", "SELECT workspace, name, value FROM outputs ORDER BY name", "a secret NULL\na x \"a\""},
		{"r_outputs", "SELECT name FROM workspace", "a"},
		{"r_outputs", "SELECT count(*) FROM output", "2"},
		{"r_outputs", "SELECT attributes FROM instances", denied},
		{"r_outputs", "SELECT attributes FROM object", denied},
		{"r_outputs", "SELECT document FROM object_history", denied},
		{"r_outputs", "DELETE FROM output", denied},
		{"r_outputs", "SELECT grant_access('r_outputs', 'a', 'state')", denied},
		{"r_outputs", "INSERT INTO access VALUES ('r_outputs', NULL, 'write')", denied},
		{"r_views", "SELECT workspace, attributes FROM instances", `a {"id": "a"}`},
		{"r_views", "SELECT workspace, value FROM outputs WHERE name = 'x'", `a "a"`},
		{"r_views", "SELECT DISTINCT workspace FROM changes", `a`},
		{"r_views", "SELECT document FROM output", denied},
		{"r_views", "SELECT document FROM object", denied},
		{"r_state", "SELECT address FROM object", "lab_object.o"},
		{"r_state", "SELECT count(*) FROM run", "1"},
		{"r_state", "DELETE FROM object", denied},
		{"r_write", "SELECT count(*) FROM object", "1"},
		{"r_all", "SELECT count(*) FROM object", "2"},
		{"r_all", "SELECT count(*) FROM instances", "2"},
	} {
		got, err := rows(t, c, test.role, test.sql)
		if test.want == denied {
			if err == nil || !strings.Contains(err.Error(), denied) {
				t.Errorf("%s, %s: %s, %v, want an error", test.role, test.sql, got, err)
			}
			continue
		}
		if err != nil || got != test.want {
			t.Errorf("%s, %s: %s, %v, want %s", test.role, test.sql, got, err, test.want)
		}
	}

	// The program can use these roles.
	reader := open(t, roles["r_outputs"])
	if text, err := reader.GetOutputs(t.Context(), "a"); err != nil || !strings.Contains(string(text), "hunter2") {
		t.Errorf("outputs: %s, %v", text, err)
	}
	if text, err := reader.GetOutputs(t.Context(), "b"); err != nil || text != nil {
		t.Errorf("outputs of another workspace: %s, %v", text, err)
	}
	if _, err := reader.Get(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), denied) {
		t.Errorf("the state with a role for outputs: %v", err)
	}
	if loaded, err := open(t, roles["r_state"]).LoadState(t.Context(), "a", nil); err != nil || !loaded.Exists {
		t.Errorf("the state with a role for it: %v, %v", loaded, err)
	}
	lowered := role(t, c, "r_lowered") // keeps its privileges on tables when its level is lowered
	for _, level := range []string{"state", "outputs"} {
		if _, err := rows(t, c, "", "SELECT grant_access('r_lowered', 'a', '"+level+"')"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := open(t, lowered).LoadState(t.Context(), "a", nil); err == nil || !strings.Contains(err.Error(), denied) {
		t.Errorf("the state after access to it was withdrawn: %v", err)
	}
	if loaded, err := open(t, lowered).LoadOutputs(t.Context(), "a", nil); err != nil || loaded.State.Output("x") == nil {
		t.Errorf("the outputs after access to the state was withdrawn: %v", err)
	}
	put(t, open(t, roles["r_write"]), "a", 2, []string{"o=changed"}, []string{"x=changed"})
	for _, do := range []func(*postgres.Store) error{
		func(s *postgres.Store) error {
			return s.Put(t.Context(), "b", []byte(`{"version":4,"serial":9,"lineage":"x"}`))
		},
		func(s *postgres.Store) error {
			return s.Put(t.Context(), "new", []byte(`{"version":4,"serial":9,"lineage":"x"}`))
		},
	} {
		if err := do(open(t, roles["r_write"])); err == nil {
			t.Error("another workspace was written")
		}
	}
	all := open(t, roles["r_all"])
	put(t, all, "b", 2, nil, nil)
	put(t, all, "c", 1, []string{"o=c"}, nil)
	if err := all.Delete(t.Context(), "c"); err != nil {
		t.Error(err)
	}
	if got, err := rows(t, c, "", "SELECT name FROM workspace ORDER BY name"); err != nil || got != "a\nb" {
		t.Errorf("workspaces: %s, %v", got, err)
	}

	// Granting a lower level of access replaces a higher one.
	if _, err := rows(t, c, "", "SELECT grant_access('r_write', 'a', 'outputs')"); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"SELECT document FROM object", "SELECT attributes::text FROM instances",
		"SELECT document FROM object_history", "DELETE FROM output RETURNING name"} {
		if got, err := rows(t, c, "r_write", sql); err != nil || got != "" {
			t.Errorf("%s with a lower level: %s, %v", sql, got, err)
		}
	}
	if got, err := rows(t, c, "r_write", "SELECT value FROM outputs WHERE name = 'x'"); err != nil || got != `"changed"` {
		t.Errorf("outputs with a lower level: %s, %v", got, err)
	}
	if _, err := rows(t, c, "", "SELECT revoke_access('r_state', 'a')"); err != nil {
		t.Fatal(err)
	}
	if got, err := rows(t, c, "r_state", "SELECT count(*) FROM object"); err != nil || got != "0" {
		t.Errorf("after revoke_access: %s, %v", got, err)
	}
	for sql, want := range map[string]string{
		"SELECT grant_access('r_state', 'missing', 'state')": `there is no workspace named "missing"`,
		"SELECT grant_access('r_state', 'a', 'all')":         `there is no level of access named "all"`,
	} {
		if _, err := rows(t, c, "", sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestQueryOnly checks that a statement that isn't a query is not executed, even if it works in a
// read-only transaction. If a query writes something, the writes must be rolled back.
func TestQueryOnly(t *testing.T) {
	c := config(t)
	s := open(t, c)
	run := func(sql string) error {
		return s.Query(t.Context(), sql, func([]backend.Column) {}, func([][]byte) error { return nil })
	}
	var failed *backend.QueryError
	for _, sql := range []string{"COPY (SELECT 1/0) TO STDOUT", "DO 'BEGIN RAISE EXCEPTION ''executed''; END'"} {
		if err := run(sql); !errors.As(err, &failed) || !strings.Contains(failed.Message, "no result") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	// Old versions of PostgreSQL store large objects in read-only transactions too.
	const large = "SELECT count(*) FROM pg_largeobject_metadata WHERE oid = 4242001"
	_ = run("SELECT lo_create(4242001)")
	if got := query(t, c, large); got != "0" {
		t.Error("the query has stored a large object")
	}
}

// TestQueryRole checks that queries run with the rights of the query role.
func TestQueryRole(t *testing.T) {
	c := config(t)
	c.Schema = "query_role"
	s := open(t, c)
	t.Cleanup(func() { execute(t, "DROP SCHEMA query_role CASCADE") })
	put(t, s, "a", 1, []string{"o=a"}, nil)
	put(t, s, "b", 1, []string{"o=b"}, nil)
	count := func(sql string) (string, error) {
		var out string
		err := s.Query(t.Context(), sql, func([]backend.Column) {}, func(values [][]byte) error {
			out += string(values[0])
			return nil
		})
		return out, err
	}
	if got, err := count("SELECT count(*) FROM object"); err != nil || got != "2" {
		t.Errorf("without the role: %s, %v", got, err)
	}
	role(t, c, "query_role_reader")
	if _, err := count("SELECT count(*) FROM instances"); err == nil {
		t.Error("the role has no rights, but there is no error")
	}
	if _, err := rows(t, c, "", "SELECT grant_access('query_role_reader', 'a', 'views')"); err != nil {
		t.Fatal(err)
	}
	if got, err := count("SELECT count(*) FROM instances"); err != nil || got != "1" {
		t.Errorf("with the role: %s, %v", got, err)
	}
	_, err := count("SELECT count(*) FROM object")
	var failed *backend.QueryError
	if !errors.As(err, &failed) || !strings.Contains(failed.Hint, "grant_access") {
		t.Errorf("a table: %v", err)
	}
	// A query can leave the role, and then has the rights of the user of the connection. A login that
	// has only the role therefore gets no further.
	login := role(t, c, "query_login")
	execute(t, "GRANT query_role_reader TO query_login")
	s = open(t, login)
	if got, err := count("SELECT count(*) FROM instances"); err != nil || got != "1" {
		t.Errorf("with a login of its own: %s, %v", got, err)
	}
	for _, user := range []string{"none", "query_role_reader", "query_login", "tester"} {
		for _, table := range []string{"object", "object_history", "output"} {
			got, err := count("SELECT set_config('role', '" + user + "', true) || " +
				"query_to_xml('SELECT document FROM " + table + "', true, true, '')::text")
			if !errors.As(err, &failed) || !strings.Contains(failed.Message, "permission denied") {
				t.Errorf("%s as %s: %s, %v", table, user, got, err)
			}
		}
	}
}
