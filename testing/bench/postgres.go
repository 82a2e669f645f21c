package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"tofu/internal/testenv/pgtest"
)

// database is a private server whose commits are durable, with a connection for observing the
// server.
type database struct {
	server  *pgtest.Server
	conn    *pgx.Conn
	schemas int
}

func startDatabase(ctx context.Context) (*database, error) {
	server, err := pgtest.Start("-c", "fsync=on")
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, server.Conn())
	if err != nil {
		server.Close()
		return nil, err
	}
	return &database{server: server, conn: conn}, nil
}

func (d *database) close(ctx context.Context) {
	_ = d.conn.Close(ctx)
	d.server.Close()
}

// written is the amount that the server has written since its start: bytes of write-ahead log, and
// rows.
type written struct{ bytes, rows int64 }

func (d *database) written(ctx context.Context) (w written, err error) {
	// A session reports its row counts only when it ends, which may be after the end of the
	// program. Therefore wait until this session is the only one.
	const sessions = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
	for n := 0; n != 1; {
		if err := d.conn.QueryRow(ctx, sessions).Scan(&n); err != nil {
			return w, err
		}
	}
	err = d.conn.QueryRow(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint, "+
		"(SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_user_tables)").
		Scan(&w.bytes, &w.rows)
	return w, err
}

// mostSessions counts the sessions of other programs repeatedly until done is closed. It returns
// the largest number.
func (d *database) mostSessions(ctx context.Context, done <-chan struct{}) (most int, err error) {
	for {
		var n int
		if err := d.conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' "+
			"AND pid <> pg_backend_pid()").Scan(&n); err != nil {
			return 0, err
		}
		most = max(most, n)
		select {
		case <-done:
			return most, nil
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// place is a program together with the backend that it uses.
type place struct {
	name, program, backend string // backend is "" for a local file
}

func (o *options) places() []place {
	out := []place{{"local file", o.bin, ""}, {"postgres", o.bin, "postgres"}}
	if o.ref != "" {
		out = append(out, place{"the other's pg", o.ref, "pg"})
	}
	return out
}

// configure writes a backend block that uses p's backend with a new schema.
func (d *database) configure(b *bench, p place) error {
	d.schemas++
	text := fmt.Sprintf("terraform {\n  backend %q {\n    conn_str    = %q\n    schema_name = \"bench_%d\"\n  }\n}\n",
		p.backend, d.server.Conn()+" sslmode=disable", d.schemas)
	return os.WriteFile(filepath.Join(b.dir, "backend.tf"), []byte(text), 0o644)
}

// objectsPerBlock is the number of objects in each resource of postgresModule.
const objectsPerBlock = 50

// postgresModule returns a configuration with n objects. The value of the variable text determines
// one of them.
func postgresModule(n int) string {
	var b strings.Builder
	b.WriteString("variable \"text\" {\n  default = \"first\"\n}\nresource \"terraform_data\" \"changed\" {\n" +
		"  input = var.text\n}\noutput \"changed\" {\n  value = terraform_data.changed.output\n}\n")
	for i, left := 0, n-1; left > 0; i, left = i+1, left-objectsPerBlock {
		fmt.Fprintf(&b, "resource \"terraform_data\" \"r%d\" {\n  count = %d\n  input = \"%d ${count.index}\"\n}\n", i,
			min(left, objectsPerBlock), i)
	}
	return b.String()
}

// postgresPhase is a command whose cost is measured.
type postgresPhase struct {
	name   string
	stores bool // whether to run the command only in places with a backend
	writes bool // whether to also measure how much the command writes
	args   []string
}

var (
	migrate        = []string{"init", "-input=false", "-migrate-state", "-force-copy"}
	postgresPhases = []postgresPhase{
		{"migration in", true, true, migrate},
		{"no-op plan", false, false, []string{"plan", "-input=false", "-refresh=false", "-detailed-exitcode"}},
		{"plan of one change", false, false,
			[]string{"plan", "-input=false", "-refresh=false", "-var=text=second", "-out=p.tfplan"}},
		{"apply of one change", false, true, []string{"apply", "-input=false", "p.tfplan"}},
		{"state list", false, false, []string{"state", "list"}},
		{"output", false, false, []string{"output", "-json"}},
		{"migration out", true, false, migrate},
	}
)

// figure is the cost of a phase and the amount that the server wrote during it.
type figure struct {
	cost
	written written
	present bool
}

// measurePostgres measures commands, including concurrent applies, on states in PostgreSQL and in a
// local file.
func measurePostgres(o *options, out io.Writer) error {
	ctx := context.Background()
	d, err := startDatabase(ctx)
	if err != nil {
		return err
	}
	defer d.close(ctx)
	var version string
	if err := d.conn.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nPostgreSQL %s on the same machine, over a socket\n\n", version)
	results := make([]map[place][]figure, len(o.sizes))
	for i, n := range o.sizes {
		results[i], err = o.postgresFigures(ctx, d, n)
		if err != nil {
			return fmt.Errorf("%d objects: %w", n, err)
		}
	}
	o.postgresTables(out, results)
	return o.atTheSameTime(ctx, d, out)
}

// postgresFigures measures all phases in all places. The configuration has n objects.
func (o *options) postgresFigures(ctx context.Context, d *database, n int) (map[place][]figure, error) {
	top, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(top)
	first, err := newBench(o, o.bin, top, "")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.MkdirAll(first.dir, 0o755),
		os.WriteFile(filepath.Join(first.dir, "main.tf"), []byte(postgresModule(n)), 0o644)); err != nil {
		return nil, err
	}
	if _, err := first.run("apply", "-auto-approve", "-input=false"); err != nil {
		return nil, err
	}
	out := make(map[place][]figure)
	for _, p := range o.places() {
		for range o.count {
			figures, err := o.postgresPlace(ctx, d, p, first.dir)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			for i := range out[p] {
				figures[i].cost = figures[i].least(out[p][i].cost)
			}
			out[p] = figures
		}
	}
	return out, nil
}

// postgresPlace measures all phases in a place. It works on a copy of a directory that contains a
// local state. If a command of the other program times out, it returns the figures of the commands
// before.
func (o *options) postgresPlace(ctx context.Context, d *database, p place, from string) ([]figure, error) {
	top, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(top)
	b, err := newBench(o, p.program, top, "")
	if err == nil {
		err = os.CopyFS(b.dir, os.DirFS(from))
	}
	if err == nil && p.program != o.bin {
		_, err = b.run("init", "-input=false")
	}
	if err != nil {
		return nil, err
	}
	figures := make([]figure, len(postgresPhases))
	for i, phase := range postgresPhases {
		if phase.stores && p.backend == "" {
			continue
		}
		if phase.stores && i == 0 {
			err = d.configure(b, p)
		} else if phase.stores {
			err = os.Remove(filepath.Join(b.dir, "backend.tf"))
		}
		if err != nil {
			return nil, err
		}
		before, err := d.written(ctx)
		if err != nil {
			return nil, err
		}
		c, err := b.run(phase.args...)
		if errors.Is(err, errTimeout) && p.program != o.bin {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", phase.name, err)
		}
		after, err := d.written(ctx)
		if err != nil {
			return nil, err
		}
		figures[i] = figure{c, written{after.bytes - before.bytes, after.rows - before.rows}, true}
	}
	return figures, nil
}

// postgresTables prints a table of times and a table of the written amounts.
func (o *options) postgresTables(out io.Writer, results []map[place][]figure) {
	sizes := make([]string, len(o.sizes))
	for i, n := range o.sizes {
		sizes[i] = fmt.Sprint(n)
	}
	times := &table{rows: [][]string{append(append([]string{"seconds (CPU seconds)", "state in"}, sizes...), "growth")}}
	writes := &table{rows: [][]string{append([]string{"written", "state in"}, sizes...)}}
	for i, phase := range postgresPhases {
		for _, p := range o.places() {
			if phase.stores && p.backend == "" {
				continue
			}
			row := times.row(phase.name, p.name)
			for _, result := range results {
				times.add(row, "", result[p][i].seconds())
			}
			first, last := results[0][p][i], results[len(results)-1][p][i]
			if len(results) > 1 && first.present && last.present {
				e := growth(o.sizes[0], o.sizes[len(o.sizes)-1], first.wall, last.wall)
				times.add(row, "", fmt.Sprintf("N^%.2f", e))
			}
			if !phase.writes || p.backend == "" {
				continue
			}
			row = writes.row(phase.name, p.name)
			for _, result := range results {
				writes.add(row, "", result[p][i].amount())
			}
		}
	}
	times.print(out)
	fmt.Fprint(out, "\nGrowth is calculated from the wall time, because the CPU time excludes the server.\n\n")
	writes.print(out)
}

func (f figure) seconds() string {
	if !f.present {
		return "–"
	}
	return fmt.Sprintf("%.2f (%.2f)", f.wall.Seconds(), f.cpu.Seconds())
}

func (f figure) amount() string {
	if !f.present {
		return "–"
	}
	return fmt.Sprintf("%d rows, %.0f kB", f.written.rows, float64(f.written.bytes)/1000)
}

const (
	applies    = 8
	perApply   = 50
	objectTime = 200 * time.Millisecond
)

// An applyForm is a way to apply parts of a workspace.
type applyForm struct {
	name        string
	saved       bool // whether the plans are created and saved before the time is measured
	parallelism int
}

// applyForms lists the forms to measure. In the last one, each apply has fewer concurrent provider
// calls and therefore needs less CPU time per second.
var applyForms = []applyForm{
	{"plan and apply", false, 10},
	{"saved plans", true, 10},
	{"saved plans, -parallelism=5", true, 5},
}

// atTheSameTime measures applies of separate parts of a workspace, first one after another and then
// concurrently. The provider takes objectTime for each object.
func (o *options) atTheSameTime(ctx context.Context, d *database, out io.Writer) error {
	if o.mirror == "" {
		fmt.Fprintln(os.Stderr, "bench: skipping applies at the same time, which require -mirror")
		return nil
	}
	fmt.Fprintf(out, "\n%d applies of %d objects each, which take %s each, in one workspace, on %d processors\n\n", applies,
		perApply, objectTime, runtime.NumCPU())
	t := &table{rows: [][]string{{"state in", "applies", "one after another s", "at the same time s", "times as fast",
		"connections"}}}
	for _, p := range o.places()[1:] {
		for _, form := range applyForms {
			if form.saved && p.program != o.bin {
				continue // each apply makes the other saved plans outdated
			}
			turns, _, err := o.disjointBest(ctx, d, p, form, 1)
			if err != nil {
				return err
			}
			together, connections, err := o.disjointBest(ctx, d, p, form, applies)
			if err != nil {
				return err
			}
			t.row(p.name, form.name, fmt.Sprintf("%.2f", turns.Seconds()), fmt.Sprintf("%.2f", together.Seconds()),
				fmt.Sprintf("%.1f", turns.Seconds()/together.Seconds()), fmt.Sprint(connections))
		}
	}
	t.print(out)
	return nil
}

// disjointBest measures the applies -count times. It returns the smallest total time, and the
// largest number of connections.
func (o *options) disjointBest(
	ctx context.Context, d *database, p place, form applyForm, together int,
) (best time.Duration, connections int, err error) {
	for range o.count {
		wall, most, err := o.disjoint(ctx, d, p, form, together)
		if err != nil {
			return 0, 0, err
		}
		if best == 0 || wall < best {
			best = wall
		}
		connections = max(connections, most)
	}
	return best, connections, nil
}

// disjoint performs all applies. The argument together is the maximum number of applies at the same
// time. disjoint returns the total time and the largest number of connections.
func (o *options) disjoint(
	ctx context.Context, d *database, p place, form applyForm, together int,
) (time.Duration, int, error) {
	top, err := os.MkdirTemp("", "bench")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(top)
	b, err := newBench(o, p.program, top, o.mirror)
	if err != nil {
		return 0, 0, err
	}
	files := filepath.Join(top, "files")
	b.env = append(b.env, "FILES_ROOT="+files, fmt.Sprintf("FILES_DELAY_MS=%d", objectTime.Milliseconds()))
	text := "terraform {\n  required_providers {\n    files = { source = \"example.com/tofu/files\" }\n  }\n}\n"
	for i := range applies {
		text += fmt.Sprintf("resource \"files_file\" \"part%d\" {\n  count   = %d\n  path    = "+
			"\"part%d-${count.index}\"\n"+
			"  content = \"x\"\n}\n", i, perApply, i)
	}
	if err := errors.Join(os.MkdirAll(b.dir, 0o755), os.Mkdir(files, 0o755), d.configure(b, p),
		os.WriteFile(filepath.Join(b.dir, "main.tf"), []byte(text), 0o644)); err != nil {
		return 0, 0, err
	}
	if _, err := b.run("init", "-input=false"); err != nil {
		return 0, 0, err
	}
	apply := func(i int) []string {
		return []string{"apply", "-auto-approve", fmt.Sprintf("-target=files_file.part%d", i)}
	}
	if form.saved {
		for i := range applies {
			_, err := b.run("plan", "-input=false", fmt.Sprintf("-out=plan%d", i), fmt.Sprintf("-target=files_file.part%d", i))
			if err != nil {
				return 0, 0, err
			}
		}
		apply = func(i int) []string { return []string{"apply", fmt.Sprintf("plan%d", i)} }
	}
	done, counted := make(chan struct{}), make(chan error)
	var most int
	go func() {
		var err error
		most, err = d.mostSessions(ctx, done)
		counted <- err
	}()
	start := time.Now()
	err = inParallel(applies, together, func(i int) error {
		args := apply(i)
		args = slices.Insert(args, 1, "-input=false", "-lock-timeout=10m", fmt.Sprintf("-parallelism=%d", form.parallelism))
		_, err := b.logging(fmt.Sprintf("log%d", i)).run(args...)
		return err
	})
	wall := time.Since(start)
	close(done)
	return wall, most, errors.Join(err, <-counted, checkFiles(files))
}

// inParallel calls the function do with each number from 0 to n-1. The argument together is the
// maximum number of calls at the same time.
func inParallel(n, together int, do func(int) error) error {
	errs := make([]error, n)
	slots := make(chan struct{}, together)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			errs[i] = do(i)
			<-slots
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// checkFiles returns an error unless the applies have created all files.
func checkFiles(dir string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) != applies*perApply {
		err = fmt.Errorf("%d of %d files exist", len(entries), applies*perApply)
	}
	return err
}
