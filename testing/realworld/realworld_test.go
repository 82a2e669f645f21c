// Package realworld runs an estate of two root modules with real servers and the providers that
// people use for them. `make realworld` starts the servers.
package realworld

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// estate is a copy of the root modules, with the servers that they use.
type estate struct {
	*testing.T
	dir, bin string
	env      []string
	sql      *pgx.Conn
	names    *net.Resolver
}

// newEstate skips the test if a server or the providers are missing.
func newEstate(t *testing.T) *estate {
	var values [4]string
	for i, need := range []struct{ name, what string }{
		{"TEST_POSTGRES_URL", "PostgreSQL"},
		{"TEST_BIND", "BIND"},
		{"REALWORLD_MIRROR", "filesystem mirror with the providers cyrilgdn/postgresql and hashicorp/dns"},
		{"REALWORLD_BIN", "program"},
	} {
		values[i] = os.Getenv(need.name)
		if values[i] == "" {
			t.Skipf("no %s: the variable %s is not set (see the target realworld of the Makefile)", need.what, need.name)
		}
	}
	postgres, mirror := values[0], values[2]
	port, secret, _ := strings.Cut(values[1], " ")
	for _, provider := range []string{"cyrilgdn/postgresql", "hashicorp/dns"} {
		if _, err := os.Stat(filepath.Join(mirror, "registry.opentofu.org", provider)); err != nil {
			t.Skipf("the provider %s is not in the mirror %s", provider, mirror)
		}
	}
	e := &estate{T: t, dir: t.TempDir(), bin: values[3]}
	var err error
	e.sql, err = pgx.Connect(t.Context(), postgres)
	e.check(err)
	t.Cleanup(func() { e.sql.Close(context.Background()) })
	dial := net.Dialer{}
	e.names = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dial.DialContext(ctx, network, "127.0.0.1:"+port)
	}}
	e.check(os.CopyFS(e.dir, os.DirFS("estate")))
	config := filepath.Join(e.dir, "tofurc")
	e.check(os.WriteFile(config, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n",
		mirror), 0o666))
	e.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+config, "TF_VAR_dns_port="+port, "TF_VAR_dns_secret="+secret,
		fmt.Sprint("TF_VAR_postgres_port=", e.forward(postgres)))
	return e
}

func (e *estate) check(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// forward accepts TCP connections for the socket of a PostgreSQL server, because the provider knows
// no others. It returns the port.
func (e *estate) forward(server string) int {
	u, err := url.Parse(server)
	e.check(err)
	socket := filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	e.check(err)
	e.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				server, err := net.Dial("unix", socket)
				if err != nil {
					return
				}
				defer server.Close()
				go func() {
					io.Copy(server, client)
					server.Close()
				}()
				io.Copy(client, server)
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

// run runs the program with the expected exit status and returns its output.
func (e *estate) run(status int, args ...string) string {
	e.Helper()
	cmd := exec.Command(e.bin, args...)
	cmd.Dir, cmd.Env = e.dir, e.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != status {
		e.Fatalf("tofu %s: status %d, want %d (%v)\n%s", strings.Join(args, " "), got, status, err, &out)
	}
	return out.String()
}

// count returns the number that a query finds.
func (e *estate) count(query string) int {
	e.Helper()
	var n int
	e.check(e.sql.QueryRow(e.Context(), query).Scan(&n))
	return n
}

const (
	databases = "SELECT count(*) FROM pg_database WHERE datname IN ('billing', 'orders', 'search', 'extra')"
	roles     = `SELECT count(*) FROM pg_roles WHERE rolname ~ '^[a-z]+_(owner|reader)$'`
)

// has checks how many databases, roles and hosts the servers have.
func (e *estate) has(wantDatabases, wantRoles, wantHosts int) {
	e.Helper()
	hosts := 0
	for i := range 60 {
		found, _ := e.names.LookupHost(e.Context(), fmt.Sprintf("host%03d.realworld.test.", i))
		hosts += len(found)
	}
	if d, r := e.count(databases), e.count(roles); d != wantDatabases || r != wantRoles || hosts != wantHosts {
		e.Errorf("the servers have %d databases, %d roles and %d hosts, want %d, %d and %d", d, r, hosts, wantDatabases,
			wantRoles, wantHosts)
	}
}

func TestEstate(t *testing.T) {
	e := newEstate(t)
	e.run(0, "roots", "init")
	e.run(0, "roots", "plan", "-out=all.tfplan")
	e.has(0, 0, 0)
	e.run(0, "roots", "apply", "all.tfplan")
	e.has(3, 6, 40)
	alias, err := e.names.LookupCNAME(t.Context(), "orders.realworld.test.")
	if err != nil || alias != "host001.realworld.test." {
		t.Errorf("orders: %s, %v", alias, err)
	}
	owner, err := e.names.LookupTXT(t.Context(), "owner.search.realworld.test.")
	if err != nil || len(owner) != 1 || owner[0] != "search_owner" {
		t.Errorf("the owner of search: %q, %v", owner, err)
	}
	e.run(0, "roots", "plan", "-detailed-exitcode")

	// Changes by others are found and undone.
	_, err = e.sql.Exec(t.Context(), "ALTER ROLE search_reader CONNECTION LIMIT 99")
	e.check(err)
	_, err = e.sql.Exec(t.Context(), "DROP DATABASE billing")
	e.check(err)
	plan := e.run(2, "-chdir=db", "plan", "-detailed-exitcode", "-no-color")
	for _, want := range []string{`postgresql_role.reader["search"] will be updated`,
		`postgresql_database.service["billing"] will be created`, `99 -> 5`} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan lacks %q:\n%s", want, plan)
		}
	}
	e.run(0, "-chdir=db", "apply", "-auto-approve")
	if n := e.count("SELECT rolconnlimit FROM pg_roles WHERE rolname = 'search_reader'"); n != 5 {
		t.Errorf("the limit is %d", n)
	}
	e.has(3, 6, 40)

	// A service less, with more hosts: the root modules change in order.
	e.env = append(e.env, `TF_VAR_services=["orders", "search"]`, "TF_VAR_hosts=55")
	e.run(0, "roots", "apply", "-auto-approve")
	e.has(2, 4, 55)
	e.run(0, "roots", "plan", "-detailed-exitcode")

	// An error of a server stops only what needs the failed object, and its text is shown.
	_, err = e.sql.Exec(t.Context(), "CREATE ROLE extra_owner")
	e.check(err)
	e.env = append(e.env, `TF_VAR_services=["orders", "search", "extra"]`)
	if out := e.run(1, "-chdir=db", "apply", "-auto-approve", "-no-color"); !strings.Contains(out, "already exists") ||
		!strings.Contains(out, `postgresql_role.owner["extra"]`) {
		t.Errorf("the error lacks the reason or the address:\n%s", out)
	}
	if n := e.count("SELECT count(*) FROM pg_roles WHERE rolname = 'extra_reader'"); n != 1 {
		t.Error("the role that doesn't need the failed one wasn't created")
	}
	e.run(0, "-chdir=db", "import", `postgresql_role.owner["extra"]`, "extra_owner")
	e.run(0, "roots", "apply", "-auto-approve")
	e.has(3, 6, 55)

	e.run(0, "roots", "destroy", "-auto-approve")
	e.has(0, 0, 0)
}
