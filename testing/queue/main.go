//go:build unix

// Command queue measures runs over workers, and kills workers at random:
//
//	testing/services/run.sh postgres go run ./testing/queue -bin bin/tofu -roots 500 -workers 4 -jobs 8 -kills 50
//
// Each root module has one object, whose creation takes 0.2 s and appends lines to a file when it begins and ends.
// First one process applies all of them, then workers with the same total parallelism do. With -kills, further
// runs replace the objects of a few root modules while a worker that creates some of them is killed. Afterwards the
// lines are compared with the states: an object is lost if it was created and is not in its state, a ghost if it
// is in its state as ready and was not created, and an operation was done twice if its line is
// there twice.
//
// With -estate=50000 -applies=4000, it plans one commit in an estate with 4 million objects instead, and applies a day's
// changes as fast as it can. States are copied in the database. No root module that is applied reads outputs of
// another one, so it is an error if the transactions of one wait for those of another.
//
// Invariants: the program is only used through its command line, and the database is one of its own, which is
// dropped at the end.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// options are the options of the command.
type options struct {
	bin                         string
	roots, workers, jobs, kills int
	estate, objects, applies    int
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin/tofu", "the program")
	flag.IntVar(&o.roots, "roots", 500, "number of root modules")
	flag.IntVar(&o.workers, "workers", 4, "number of workers")
	flag.IntVar(&o.jobs, "jobs", 8, "root modules per worker at the same time")
	flag.IntVar(&o.kills, "kills", 0, "number of runs in which a worker is killed")
	flag.IntVar(&o.estate, "estate", 0, "instead, plan one commit in an estate of this many root modules")
	flag.IntVar(&o.objects, "objects", 80, "number of objects in each root module of the estate")
	flag.IntVar(&o.applies, "applies", 0, "then, apply this many root modules of the estate in 20 runs")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// trial is an estate with a database of its own.
type trial struct {
	*options
	dir, log string
	conn     *pgx.Conn
	env      []string
	running  []*exec.Cmd
	started  int
}

const module = `
terraform {
  backend "postgres" {}
}
variable "run" {}
resource "terraform_data" "object" {
  triggers_replace = var.run
  provisioner "local-exec" {
    command = "echo begin $ROOT $RUN >>$LOG; sleep 0.2; echo $ROOT $RUN >>$LOG"
    environment = {
      ROOT = terraform.workspace
      RUN  = var.run
      LOG  = %q
    }
  }
}
`

func run(o *options) (err error) {
	server := os.Getenv("TEST_POSTGRES_URL")
	if server == "" {
		return fmt.Errorf("TEST_POSTGRES_URL isn't set: use testing/services/run.sh postgres")
	}
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	ctx := context.Background()
	admin, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer admin.Close(ctx)
	name := fmt.Sprintf("tofu_queue_trial_%d", os.Getpid())
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	defer admin.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
	address, err := url.Parse(server)
	if err != nil {
		return err
	}
	address.Path = "/" + name
	t := &trial{options: o}
	if t.dir, err = os.MkdirTemp("", "tofu-queue-"); err != nil {
		return err
	}
	defer os.RemoveAll(t.dir)
	t.log = filepath.Join(t.dir, "log")
	t.env = append(os.Environ(), "PG_CONN_STR="+address.String(), "TF_IN_AUTOMATION=1", "TOFU_QUEUE=", "NO_COLOR=1",
		"TF_CLI_CONFIG_FILE="+filepath.Join(t.dir, "rc"), "XDG_CACHE_HOME="+filepath.Join(t.dir, "cache"))
	if t.conn, err = pgx.Connect(ctx, address.String()); err != nil {
		return err
	}
	defer t.conn.Close(ctx)
	if err := t.write(); err != nil {
		return err
	}
	defer t.stop()
	if o.estate > 0 {
		return t.large(ctx, "-queue="+address.String())
	}
	return t.measure(ctx, "-queue="+address.String())
}

// write writes the estate.
func (t *trial) write() error {
	var roots strings.Builder
	for i := range t.roots {
		fmt.Fprintf(&roots, "root \"r%03d\" {\n  workspace = \"r%03[1]d\"\n}\n", i)
		dir := filepath.Join(t.dir, "estate", fmt.Sprintf("r%03d", i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), fmt.Appendf(nil, module, t.log), 0o600); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"estate/roots.tofu.hcl": roots.String(), "rc": "", "log": ""} {
		if err := os.WriteFile(filepath.Join(t.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// tofu runs the program in the estate and returns its output.
func (t *trial) tofu(args ...string) (string, error) {
	cmd := exec.Command(t.bin, args...)
	cmd.Dir, cmd.Env = filepath.Join(t.dir, "estate"), t.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args[:2], " "), err, out)
	}
	return string(out), err
}

// start starts a worker.
func (t *trial) start(queue string) error {
	cmd := exec.Command(t.bin, "worker", queue, fmt.Sprint("-jobs=", t.jobs), "-lease=3s",
		"-dir="+filepath.Join(t.dir, fmt.Sprint("worker", t.started)))
	cmd.Env = t.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	t.started++
	t.running = append(t.running, cmd)
	return cmd.Start()
}

// stop kills the workers.
func (t *trial) stop() {
	for _, cmd := range t.running {
		if cmd.ProcessState == nil && cmd.Process != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
}

// measure compares one process with workers.
func (t *trial) measure(ctx context.Context, queue string) error {
	if _, err := t.tofu("roots", "init", "-var=run=0"); err != nil {
		return err
	}
	took := func(args ...string) (time.Duration, error) {
		began := time.Now()
		_, err := t.tofu(append([]string{"roots", "apply", "-auto-approve"}, args...)...)
		return time.Since(began), err
	}
	alone, err := took("-var=run=alone", fmt.Sprint("-roots=", t.workers*t.jobs))
	if err != nil {
		return err
	}
	for range t.workers {
		if err := t.start(queue); err != nil {
			return err
		}
	}
	if _, err := took("-var=run=first", queue); err != nil { // workers install what they need
		return err
	}
	before, err := t.load(ctx)
	if err != nil {
		return err
	}
	watch := t.observe(ctx)
	workers, err := took("-var=run=workers", queue)
	seen := watch()
	if err != nil {
		return err
	}
	after, err := t.load(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d root modules, 0.2 s each, %d at the same time\none process: %.1f s\n%d workers: %.1f s\n", t.roots,
		t.workers*t.jobs, alone.Seconds(), t.workers, workers.Seconds())
	fmt.Printf("overhead per root module: %.0f ms\n", float64((workers-alone).Milliseconds())/float64(t.roots))
	each := func(n int) float64 { return float64(n) / float64(t.roots) }
	fmt.Printf("connections at most: %d; per root module: %.0f transactions, %.0f rows written, %.0f notifications\n",
		seen.connections, each(after.transactions-before.transactions), each(after.rows-before.rows), each(seen.notifications))
	return t.kill(ctx, queue)
}

// few is the number of root modules of a run in which a worker is killed.
const few = 20

// hit kills a worker at a random time after it has begun to apply root modules, or when ended is closed. It returns
// how many it was applying.
func (t *trial) hit(ctx context.Context, worker *exec.Cmd, ended <-chan struct{}) (applying int) {
	const count = "SELECT count(*) FROM tofu_queue.tasks WHERE status = 'running' AND begun AND worker LIKE '%-' || $1::text || '-%'"
	pid := fmt.Sprint(worker.Process.Pid)
	for over := false; applying == 0 && !over; {
		if err := t.conn.QueryRow(ctx, count, pid).Scan(&applying); err != nil {
			break
		}
		select {
		case <-ended:
			over = true
		case <-time.After(time.Millisecond):
		}
	}
	time.Sleep(time.Duration(rand.IntN(250)) * time.Millisecond)
	_ = t.conn.QueryRow(ctx, count, pid).Scan(&applying)
	_ = worker.Process.Kill()
	_ = worker.Wait()
	return applying
}

// kill kills workers at random times of runs, and compares the states with what was done.
func (t *trial) kill(ctx context.Context, queue string) error {
	var lost, ghosts, twice, reported, done, hit int
	for i := range t.kills {
		run := fmt.Sprint("kill", i)
		victim := len(t.running) - 1 - rand.IntN(t.workers)
		killed := make(chan int)
		ended := make(chan struct{})
		go func() { killed <- t.hit(ctx, t.running[victim], ended) }()
		out, _ := t.tofu("roots", "apply", "-auto-approve", "-only=r00*,r01*", "-var=run="+run, queue)
		close(ended)
		hit += <-killed
		time.Sleep(300 * time.Millisecond) // what a killed worker has started may still create its object
		reported += strings.Count(out, "Error: What is left destroys more than was approved")
		text, err := os.ReadFile(t.log)
		if err != nil {
			return err
		}
		rows, err := t.conn.Query(ctx, "SELECT workspace, status FROM tofu.instances WHERE attributes->'triggers_replace'->>'value' = $1",
			run)
		if err != nil {
			return err
		}
		status := make(map[string]string)
		var workspace, is string
		if _, err := pgx.ForEachRow(rows, []any{&workspace, &is}, func() error { status[workspace] = is; return nil }); err != nil {
			return err
		}
		for n := range min(few, t.roots) {
			root := fmt.Sprintf("r%03d", n)
			lines := bytes.Count(text, []byte("\n"+root+" "+run+"\n"))
			switch {
			case lines > 1:
				twice++
			case lines == 1 && status[root] == "":
				lost++
			case lines == 0 && status[root] == "ready":
				ghosts++
			case lines == 1:
				done++
			}
		}
		if err := t.start(queue); err != nil {
			return err
		}
		t.running[victim], t.running[len(t.running)-1] = t.running[len(t.running)-1], t.running[victim]
		t.running = t.running[:len(t.running)-1]
	}
	if t.kills > 0 {
		fmt.Printf("%d runs with a killed worker, which was applying %d root modules: %d created, %d lost, %d ghosts, %d done "+
			"twice; %d interrupted creations were reported\n", t.kills, hit, done, lost, ghosts, twice, reported)
		if hit == 0 {
			return fmt.Errorf("no worker was killed during a creation")
		}
		if lost+ghosts+twice > 0 {
			return fmt.Errorf("workers lose or repeat operations")
		}
	}
	return nil
}
