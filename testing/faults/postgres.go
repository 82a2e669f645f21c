//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"tofu/internal/testenv/pgtest"
)

// postgresFault is a fault during a run with the backend postgres.
type postgresFault struct {
	name string
	// do causes the fault while a run is in progress.
	do func(r *postgresRun) error
	// after is called when the run has ended, to end the fault. It is nil if nothing is left to do.
	after func(r *postgresRun) error
	// kills is true if the fault kills the run. fails is true if the run must report an error and
	// write errored.tfstate. If neither is set, the run must succeed.
	kills, fails bool
	// once limits the fault to one run of each operation, because such a run takes minutes.
	once bool
	// standby is true if the server has a standby that replicates it.
	standby bool
	params  string // additional parameters in the connection string
}

var postgresFaults = []postgresFault{
	{name: "program killed", kills: true, do: (*postgresRun).killProgram},
	{name: "server killed", do: func(r *postgresRun) error {
		return errors.Join(r.server.Kill(), r.restart())
	}},
	{name: "server and program killed", kills: true, do: func(r *postgresRun) error {
		return errors.Join(r.server.Kill(), r.killProgram(), r.restart())
	}},
	{name: "process of the server killed", do: (*postgresRun).killSession},
	{name: "connections dropped", do: (*postgresRun).dropConnections},
	{name: "statements time out", params: " statement_timeout=200", do: (*postgresRun).holdLocks},
	{name: "failover", standby: true, do: func(r *postgresRun) error {
		return errors.Join(r.server.Kill(), r.standby.Promote())
	}},
	{name: "failover and program killed", standby: true, kills: true, do: func(r *postgresRun) error {
		return errors.Join(r.server.Kill(), r.killProgram(), r.standby.Promote())
	}},
	{name: "server away until the run has ended", fails: true, once: true,
		do:    func(r *postgresRun) error { return r.server.Kill() },
		after: (*postgresRun).restart},
}

// postgresRun is the environment of one run with a fault.
type postgresRun struct {
	server, standby *pgtest.Server
	schema          string
	program         *os.Process
}

func (r *postgresRun) killProgram() error {
	if err := r.program.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// restart waits a short time and then starts the killed server.
func (r *postgresRun) restart() error {
	time.Sleep(500 * time.Millisecond)
	return r.server.Restart()
}

// own is the part of a statement that selects the program's sessions.
const own = "FROM pg_stat_activity WHERE application_name = 'tofu'"

// killSession kills the server process of one of the program's sessions. The server then restarts
// all other processes.
func (r *postgresRun) killSession() error {
	return r.administrate(func(ctx context.Context, conn *pgx.Conn) error {
		var pid int
		if err := conn.QueryRow(ctx, "SELECT pid "+own+" ORDER BY random() LIMIT 1").Scan(&pid); err != nil {
			return err
		}
		return syscall.Kill(pid, syscall.SIGKILL)
	})
}

// dropConnections ends the program's sessions repeatedly for some time.
func (r *postgresRun) dropConnections() error {
	return r.administrate(func(ctx context.Context, conn *pgx.Conn) error {
		for range 20 {
			if _, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid) "+own); err != nil {
				return err
			}
			time.Sleep(30 * time.Millisecond)
		}
		return nil
	})
}

// holdLocks locks the table of workspaces for some time, so that statements have to wait.
func (r *postgresRun) holdLocks() error {
	return r.administrate(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "DO $$ BEGIN LOCK TABLE "+pgx.Identifier{r.schema, "workspace"}.Sanitize()+
			"; PERFORM pg_sleep(1.5); END $$")
		return err
	})
}

// administrate connects as an administrator and calls the function do with the connection.
func (r *postgresRun) administrate(do func(context.Context, *pgx.Conn) error) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, r.server.Conn())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return do(ctx, conn)
}

// connection returns the connection string that the program uses.
func (r *postgresRun) connection() string {
	hosts := r.server.Dir()
	if r.standby != nil {
		hosts += "," + r.standby.Dir()
	}
	return "host=" + hosts + " user=tester dbname=postgres target_session_attrs=read-write"
}

// onPostgres causes each fault at random times during each operation.
func (o *options) onPostgres(report func(string, *tally)) error {
	server, err := pgtest.Start()
	if err != nil {
		fmt.Printf("postgres: skipped: %v\n", err)
		return nil
	}
	defer server.Close()
	point := 0
	for _, fault := range postgresFaults {
		for _, op := range o.operations() {
			sum := &tally{}
			runs := o.runs
			if fault.once {
				runs = 1
			}
			for range runs {
				point++
				if !o.chosen(point) {
					continue
				}
				r := &postgresRun{server: server, schema: fmt.Sprintf("faults_%d", point)}
				if err := o.onPostgresOnce(&fault, op, r, sum); err != nil {
					return fmt.Errorf("%s of %s: %w", fault.name, op.name, err)
				}
			}
			if sum.runs > 0 {
				report(fmt.Sprintf("postgres: %s of %s", fault.name, op.name), sum)
			}
		}
	}
	return nil
}

// onPostgresOnce performs one run with a fault.
func (o *options) onPostgresOnce(fault *postgresFault, op operation, r *postgresRun, sum *tally) error {
	if fault.standby {
		var err error
		r.server, err = pgtest.Start()
		if err != nil {
			return err
		}
		defer r.server.Close()
		r.standby, err = r.server.Standby()
		if err != nil {
			return err
		}
		defer r.standby.Close()
	}
	t, err := o.newPostgresTrial(r.schema, r.connection()+fault.params)
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.top)
	if op.before != nil {
		if err := t.must(op.before...); err != nil {
			return err
		}
	}
	out, runErr, err := t.disturbed(op, o.random.IntN(t.objects*3/4), fault, r)
	if err != nil {
		return err
	}
	sum.runs++
	what := fault.name + " of " + op.name
	if failed := runErr != nil; failed != (fault.kills || fault.fails) && !fault.kills {
		sum.problem("%s: the run ended with %v: %s", what, runErr, out[max(0, len(out)-600):])
	}
	if fault.fails {
		if err := t.must("state", "push", "errored.tfstate"); err != nil {
			sum.problem("%s: %v", what, err)
		}
	}
	interrupted := map[string]bool{}
	if fault.kills {
		interrupted = t.interrupted()
	}
	t.judgeExactly(what, interrupted, sum)
	t.finish(op, sum)
	return nil
}

// newPostgresTrial creates a trial with an empty state in PostgreSQL.
func (o *options) newPostgresTrial(schema, connection string) (*trial, error) {
	t, err := o.newTrial(o.objects)
	if err != nil {
		return nil, err
	}
	t = t.with("PG_CONN_STR="+connection, "FILES_DELAY_MS=40")
	block := fmt.Sprintf("terraform {\n  backend \"postgres\" {\n    schema_name = %q\n  }\n}\n", schema)
	return t, errors.Join(os.WriteFile(filepath.Join(t.work, "backend.tf"), []byte(block), 0o644),
		t.must("init", "-input=false"))
}

// disturbed runs an operation and causes a fault after the given number of provider calls. runErr
// is the error of the program. err reports that the fault could not be caused or ended.
func (t *trial) disturbed(op operation, calls int, fault *postgresFault,
	r *postgresRun) (out []byte, runErr, err error) {
	const patience = 5 * time.Minute
	var text bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.bin, op.args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.work, t.env, &text, &text
	cmd.WaitDelay = time.Second // plugins of a killed program still have the pipes open for a moment
	before := t.calls(op.name)
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	r.program = cmd.Process
	ended := make(chan struct{})
	go func() {
		runErr = cmd.Wait()
		close(ended)
	}()
	t.awaitCalls(op.name, before+1+calls, ended)
	err = fault.do(r)
	<-ended
	if fault.kills {
		time.Sleep(400 * time.Millisecond) // gives remaining plugins time to finish
	}
	if fault.after != nil {
		err = errors.Join(err, fault.after(r))
	}
	if ctx.Err() != nil {
		err = errors.Join(err, fmt.Errorf("the program did not end within %s", patience))
	}
	return text.Bytes(), runErr, err
}

var interruptedStep = regexp.MustCompile(`(files_file\.[ab]\[\d+\]): \S+, started`)

// interrupted returns the addresses of the objects whose steps a plan reports as interrupted.
func (t *trial) interrupted() map[string]bool {
	out, _ := t.command("plan", "-input=false").CombinedOutput() // ignore the error: the next run reports a failure
	text := strings.Join(strings.Fields(strings.ReplaceAll(string(out), "│", "")), " ")
	found := map[string]bool{}
	for _, match := range interruptedStep.FindAllStringSubmatch(text, -1) {
		found[match[1]] = true
	}
	return found
}

// judgeExactly compares the state with all files on disk, except the files of interrupted steps.
func (t *trial) judgeExactly(what string, interrupted map[string]bool, sum *tally) {
	known, err := t.known()
	if err != nil {
		sum.problem("%s: the state cannot be read: %v", what, err)
		return
	}
	files := t.onDisk()
	sum.existed += len(files)
	var lost, ghosts []string
	for name, f := range files {
		if known[name] != f.sha256 && !interrupted[t.address(name)] {
			lost = append(lost, t.address(name))
		}
	}
	for name := range known {
		if _, ok := files[name]; !ok && !interrupted[t.address(name)] {
			ghosts = append(ghosts, t.address(name))
		}
	}
	sum.lost, sum.ghosts = sum.lost+len(lost), sum.ghosts+len(ghosts)
	if len(lost)+len(ghosts) > 0 {
		sum.problem("%s: lost %q, ghosts %q", what, lost, ghosts)
	}
}
