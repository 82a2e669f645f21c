package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tofu/internal/testenv"
	"tofu/internal/testenv/pgtest"
)

// server is a private server with a database that has the tables of a queue. Each test gets a copy of this
// database. noServer is the reason why server is nil.
var (
	server    *pgtest.Server
	noServer  string
	databases atomic.Int32
)

// childEnv makes the test program the process of a task.
const childEnv = "TOFU_TEST_TASK"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(work())
	}
	var err error
	if server, err = pgtest.Start(); err != nil {
		noServer = err.Error()
		os.Exit(m.Run())
	}
	code := run(m)
	server.Close()
	os.Exit(code)
}

func run(m *testing.M) int {
	q, err := Open(context.Background(), server.Conn())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	q.Close()
	return m.Run()
}

// instructions are the input of a task: what its process does.
type instructions struct {
	Log    string // a file for lines about what happens
	Hold   string // the process ends when this file exists or after a second interrupt
	Sleep  time.Duration
	Crash  []byte // write this on standard error and exit
	Orphan bool   // start a process that says so after a second, before the crash
	Fail   bool   // the outcome is a failure
	Begin  bool   // ask for permission to change objects
	Why    []byte // the reason in the outcome
}

// work does what the inputs of tasks say.
func work() int {
	if err := Serve(os.Stdin, os.Stdout, Exit, one); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// errCrash ends the process.
var errCrash = errors.New("")

func one(c *Child) error {
	var in instructions
	if err := json.Unmarshal(c.Job.Input, &in); err != nil {
		return err
	}
	say := func(what string) {
		f, err := os.OpenFile(in.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = fmt.Fprintf(f, "%s %s\n", what, c.Job.Root)
			_ = f.Close()
		}
	}
	say("begin")
	say(fmt.Sprint("process ", os.Getpid()))
	say("trace " + os.Getenv("TRACEPARENT"))
	if in.Orphan {
		orphan := exec.Command("sh", "-c", "sleep 1; echo orphan >>"+in.Log)
		orphan.Stderr = os.Stderr
		if err := orphan.Start(); err != nil {
			say(err.Error())
		}
	}
	if in.Crash != nil {
		_, _ = os.Stderr.Write(in.Crash)
		return errCrash
	}
	out := Outcome{Changes: true, Why: string(in.Why)}
	if in.Begin {
		if err := c.May(true); err != nil {
			say("refused")
			return err
		}
		say("change")
	}
	time.Sleep(in.Sleep)
	interrupts := 0
	for in.Hold != "" && interrupts < 2 {
		if _, err := os.Stat(in.Hold); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		select {
		case <-c.Interrupt:
			interrupts++
			say(fmt.Sprint("interrupt", interrupts))
		case <-time.After(10 * time.Millisecond):
		}
	}
	out.Failed = in.Fail || interrupts == 2
	say("end")
	text, err := json.Marshal(out)
	c.End(text, []byte("shown"), []byte("plan"), []byte("outputs"), nil)
	return err
}

// bench is a queue with what the tests of this package need.
type bench struct {
	testing.TB
	*Queue
	address, log, hold string
	lease              time.Duration // of new workers
}

func newBench(t testing.TB) *bench {
	t.Helper()
	if server == nil {
		testenv.Missing(t, noServer, "install PostgreSQL")
	}
	admin, err := Open(t.Context(), server.Conn())
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprint("queue", databases.Add(1))
	admin.Close() // a copied database may not be in use
	exec := func(sql string) {
		c := strings.Replace(server.Conn(), "dbname=postgres", "dbname=template1", 1)
		text, err := exec.Command("psql", "-XqAt", "-d", c, "-c", sql).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", sql, err, text)
		}
	}
	exec("CREATE DATABASE " + name + " TEMPLATE postgres")
	t.Cleanup(func() { exec("DROP DATABASE " + name + " WITH (FORCE)") })
	b := &bench{TB: t, lease: MinLease, address: strings.Replace(server.Conn(), "dbname=postgres", "dbname="+name, 1)}
	b.Queue = b.open()
	b.log, b.hold = filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "hold")
	return b
}

func (b *bench) open() *Queue {
	b.Helper()
	q, err := Open(b.Context(), b.address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(q.Close)
	return q
}

func (b *bench) exec(sql string, args ...any) {
	b.Helper()
	if _, err := b.pool.Exec(b.Context(), sql, args...); err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
}

// started is a worker that runs.
type started struct {
	*Worker
	stop, kill chan struct{}
	end        func() // waits for its end
	mu         sync.Mutex
	said       []string
}

// start starts a worker. It ends with the test.
func (b *bench) start(jobs int, labels ...string) *started {
	b.Helper()
	s := &started{stop: make(chan struct{}), kill: make(chan struct{})}
	s.Worker = &Worker{Queue: b.open(), ID: NewWorkerID("host"), Host: "host", Program: "test", Labels: labels, Jobs: jobs,
		Lease: b.lease, Dir: b.TempDir(), Metrics: &Metrics{},
		Say: func(format string, args ...any) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.said = append(s.said, fmt.Sprintf(format, args...))
		},
		Command: func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"=1")
			return cmd
		}}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.WithoutCancel(b.Context()), s.stop, s.kill) }()
	s.end = sync.OnceFunc(func() {
		if err := <-ended; err != nil {
			b.Errorf("the worker ended with: %v", err)
		}
	})
	b.Cleanup(func() {
		for _, c := range []chan struct{}{s.stop, s.kill} {
			select {
			case <-c:
			default:
				close(c)
			}
		}
		s.end()
	})
	return s
}

// enqueue enqueues a run. Tasks get the archive of an empty list of files, and instructions if they have none.
func (b *bench) enqueue(r *Run) *Run {
	b.Helper()
	a := NewArchives(b.TempDir())
	archive, err := a.Add(nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := b.Upload(b.Context(), a); err != nil {
		b.Fatal(err)
	}
	r.ID, r.Phase, r.Who, r.About.Dir = NewID(), 1, "test", "."
	if r.Operation == "" {
		r.Operation = "plan"
	}
	if r.Priority == 0 {
		r.Priority = 2
	}
	for i, t := range r.Tasks {
		t.N = i
		t.Uses = t.Needs
		if t.Archive == "" {
			t.Archive = archive
		}
		if t.Input == nil {
			t.Input = b.input(instructions{})
		}
		r.About.Roots = append(r.About.Roots, t.Root)
	}
	if err := b.Enqueue(r)(b.Context()); err != nil {
		b.Fatal(err)
	}
	return r
}

func (b *bench) input(in instructions) json.RawMessage {
	in.Log = b.log
	text, err := json.Marshal(in)
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// patiently waits until a condition is true.
func (b *bench) patiently(what string, is func() bool) {
	b.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("%s did not happen. The log is:\n%s", what, b.lines())
		}
	}
}

func (b *bench) lines() string {
	text, _ := os.ReadFile(b.log)
	return string(text)
}

func (b *bench) waitFor(line string) {
	b.Helper()
	b.patiently(line, func() bool { return strings.Contains(b.lines(), line+"\n") })
}

// proceed lets the tasks end that hold.
func (b *bench) proceed() {
	b.Helper()
	if err := os.WriteFile(b.hold, nil, 0o600); err != nil {
		b.Fatal(err)
	}
}

// over waits for the end of a run, and returns its status and those of its tasks.
func (b *bench) over(r *Run) (statuses string) {
	b.Helper()
	now := r
	b.patiently("the end of the run", func() (over bool) {
		found, err := b.Run(b.Context(), r.ID)
		if err == nil { // the database may be away
			now = found
		}
		return now.Over()
	})
	statuses = now.Status + ":"
	for _, t := range b.tasks(r) {
		statuses += " " + t.Root + " " + t.Status
	}
	return statuses
}

func (b *bench) tasks(r *Run) []*Task {
	b.Helper()
	tasks, err := b.Tasks(b.Context(), r.ID, 1)
	if err != nil {
		b.Fatal(err)
	}
	return tasks
}

func (b *bench) want(got, want string) {
	b.Helper()
	if got != want {
		b.Errorf("got %q, want %q. The log is:\n%s", got, want, b.lines())
	}
}
