package workers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tofu/internal/tfdiags"
)

// because returns why a run with one task failed, and checks that its worker is named.
func (b *bench) because(r *Run, s *started) string {
	b.Helper()
	b.want(b.over(r), "failed: one failed")
	task := b.tasks(r)[0]
	var o Outcome
	if err := json.Unmarshal(task.Outcome, &o); err != nil {
		b.Fatal(err)
	}
	if !strings.Contains(o.Error, s.ID) || len(task.Reasons) != maxTries {
		b.Errorf("the outcome is %q after %d tries", o.Error, len(task.Reasons))
	}
	return o.Error
}

func TestDamagedArchives(t *testing.T) {
	b := newBench(t)
	s := b.start(1)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte("locals {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	archive := func(text string) string {
		a := NewArchives(dir)
		name, err := a.Add([]string{filepath.Join(dir, "main.tf")}, nil)
		if text != "" {
			a = NewArchives(dir)
			name = hash([]byte(text))
			a.data[name] = []byte(text)
		}
		if err == nil {
			err = b.Upload(t.Context(), a)
		}
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, test := range []struct{ name, text, damage, want string }{
		{"content", "", "UPDATE files SET data = 'resource' WHERE data = 'locals {}'", "doesn't match its hash"},
		{"manifest", "", "UPDATE files SET data = '[]' WHERE hash = $1", "doesn't match its hash"},
		{"no file", "", "DELETE FROM files WHERE data IN ('locals {}', 'resource')", "it is missing"},
		{"no manifest", "", "DELETE FROM files WHERE hash = $1", "it is missing"},
		{"no list", "{", "", "not a list of files"},
		{"absolute", `[{"path":"/tmp/x","hash":"0"}]`, "", `it has the path "/tmp/x"`},
		{"outside", `[{"path":"a/../../x","hash":"0"}]`, "", `it has the path "a/../../x"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			b.exec("DELETE FROM files")
			name := archive(test.text)
			switch {
			case strings.Contains(test.damage, "$1"):
				b.exec(test.damage, name)
			case test.damage != "":
				b.exec(test.damage)
			}
			r := &Run{Tasks: []*Task{{Root: "one", Archive: name}}}
			why := b.because(b.enqueue(r), s)
			if !strings.Contains(why, test.want) || !strings.Contains(why, "Nothing was changed") {
				t.Errorf("got %q, want %q", why, test.want)
			}
		})
	}
	if b.lines() != "" {
		t.Errorf("a task was begun:\n%s", b.lines())
	}
	if entries, err := os.ReadDir(s.Dir); err != nil || len(entries) > 0 {
		t.Errorf("the worker keeps %v, %v", entries, err)
	}
}

// TestBadProcesses has processes that end in ways that the queue can't store as they are.
func TestBadProcesses(t *testing.T) {
	b := newBench(t)
	s := b.start(1)
	for _, test := range []struct {
		name, want string
		in         instructions
	}{
		{"crash", "Its last messages were: panic: out of paper", instructions{Crash: []byte("panic:\n\tout of paper")}},
		{"no text", "Its last messages were: a b", instructions{Crash: []byte("a \x00\xffb")}},
		{"cut", "│", instructions{Crash: []byte(strings.Repeat("│", 1000))}},
		{"outcome", "unsupported Unicode escape sequence", instructions{Why: []byte{0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := b.enqueue(&Run{Tasks: []*Task{{Root: "one", Input: b.input(test.in)}}})
			if why := b.because(r, s); !strings.Contains(why, test.want) {
				t.Errorf("got %q, want %q", why, test.want)
			}
		})
	}
}

// TestOrphans has a process that ends before those that it has started.
func TestOrphans(t *testing.T) {
	b := newBench(t)
	s := b.start(1)
	in := instructions{Orphan: true, Crash: []byte("crash")}
	b.because(b.enqueue(&Run{Tasks: []*Task{{Root: "one", Input: b.input(in)}}}), s)
	time.Sleep(time.Second)
	if strings.Contains(b.lines(), "orphan") || strings.Count(b.lines(), "begin") != maxTries {
		t.Error(b.lines())
	}
}

// TestCrashOfDatabase restarts the database during a task, before the end of its lease.
func TestCrashOfDatabase(t *testing.T) {
	b := newBench(t)
	b.lease = 20 * time.Second
	s := b.start(1)
	r := b.held()
	b.waitFor("begin first")
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	b.proceed()
	b.waitFor("end first") // the worker can't store that yet
	said, followed := make(chan string, 3), make(chan error)
	go func() {
		followed <- Patiently(t.Context(), func(format string, _ ...any) { said <- format }, func() error {
			_, err := b.Run(t.Context(), r.ID)
			return err
		})
	}()
	if text := <-said; !strings.HasPrefix(text, "The queue doesn't answer") {
		t.Error(text)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := <-followed; err != nil || len(said) != 1 {
		t.Errorf("who follows the run got %d more messages, and %v", len(said), err)
	}
	b.want(b.over(r), "done: first done second done third done")
	if strings.Count(b.lines(), "begin first") != 1 || len(b.tasks(r)[0].Reasons) > 0 || b.tasks(r)[0].Worker != s.ID {
		t.Errorf("the task was lost:\n%s", b.lines())
	}
}

// TestPatiently has errors of a database that answers: they are not repeated.
func TestPatiently(t *testing.T) {
	b := newBench(t)
	for what, read := range map[string]func() error{
		"No such run": func() error { _, err := b.Run(t.Context(), "none"); return err },
		"42P01":       func() error { _, err := b.pool.Exec(t.Context(), "SELECT * FROM nothing"); return err },
	} {
		err := Patiently(t.Context(), func(format string, args ...any) { t.Errorf(format, args...) }, read)
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %s", err, what)
		}
	}
}

func TestOtherVersions(t *testing.T) {
	b := newBench(t)
	b.exec("INSERT INTO workers VALUES ('new', 'host', 'tofu 99', $1, '{}', 4)", Protocol+1)
	r := b.enqueue(&Run{Tasks: []*Task{{Root: "one"}}})
	f := b.Follow(t.Context(), r.ID)
	if _, err := f.Begin(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	b.want(b.waits(f), "Root modules wait for a worker: No worker takes the root modules with no labels. These workers are there: new with no labels, but it is of "+
		"another version (tofu 99).")

	// A run of another protocol waits for its own workers, also if one of them dies.
	b.exec("UPDATE runs SET protocol = $1", Protocol+1)
	b.exec("UPDATE tasks SET queue = 'other', status = 'running', worker = 'new', lease = clock_timestamp()")
	b.exec("DELETE FROM queues")
	s := b.start(1)
	mine := b.enqueue(&Run{Tasks: []*Task{{Root: "mine"}}})
	b.want(b.over(mine), "done: mine done")
	if err := s.Queue.sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if task := b.tasks(r)[0]; task.Status != TaskRunning || len(task.Reasons) > 0 {
		t.Errorf("the task of another protocol is %s: %v", task.Status, task.Reasons)
	}
	if err := b.CheckProtocol(t.Context(), r.ID); err == nil || !strings.Contains(err.Error(), "enqueued by a version") {
		t.Error(err)
	}

	b.exec("UPDATE format SET version = 7")
	_, err := Open(t.Context(), b.address)
	if d, ok := err.(tfdiags.Diagnostic); !ok || !strings.Contains(d.Detail, "Its tables have version 7") {
		t.Errorf("%#v", err)
	}
}
