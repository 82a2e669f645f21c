package workers

import (
	"strings"
	"testing"
)

// held returns a run whose first task holds; the second one waits for a free worker, the third one for the first.
func (b *bench) held() *Run {
	hold := b.input(instructions{Hold: b.hold})
	return b.enqueue(&Run{Tasks: []*Task{{Root: "first", Input: hold}, {Root: "second"}, {Root: "third", Needs: []int{0}}}})
}

func TestOneInterruptOfRun(t *testing.T) {
	b := newBench(t)
	b.start(1)
	r := b.held()
	b.waitFor("begin first")
	if err := b.Stop(t.Context(), r.ID, 1); err != nil {
		t.Fatal(err)
	}
	b.waitFor("interrupt1 first")
	b.proceed()
	b.want(b.over(r), "cancelled: first done second skipped third skipped")
	if strings.Contains(b.lines(), "interrupt2") || strings.Contains(b.lines(), "second") {
		t.Errorf("after one interrupt:\n%s", b.lines())
	}
}

func TestTwoInterruptsOfRun(t *testing.T) {
	b := newBench(t)
	b.start(1)
	r := b.held()
	b.waitFor("begin first")
	for level := range 2 {
		if err := b.Stop(t.Context(), r.ID, level+1); err != nil {
			t.Fatal(err)
		}
	}
	b.want(b.over(r), "cancelled: first failed second skipped third skipped")
	b.waitFor("interrupt2 first")
}

func TestOneInterruptOfWorker(t *testing.T) {
	b := newBench(t)
	first := b.start(1)
	r := b.held()
	b.waitFor("begin first")
	close(first.stop)
	second := b.start(1)
	b.waitFor("end second") // by the other worker, while the first one still works
	if strings.Contains(b.lines(), "interrupt") {
		t.Errorf("a task was interrupted:\n%s", b.lines())
	}
	b.proceed()
	first.end()
	b.want(b.over(r), "done: first done second done third done")
	tasks := b.tasks(r)
	b.want(tasks[0].Worker, first.ID)
	b.want(tasks[1].Worker, second.ID)
	b.want(tasks[2].Worker, second.ID)
}

func TestTwoInterruptsOfWorker(t *testing.T) {
	b := newBench(t)
	first := b.start(1)
	r := b.held()
	b.waitFor("begin first")
	close(first.stop)
	close(first.kill)
	first.end()
	b.waitFor("interrupt2 first")
	b.start(1)
	b.want(b.over(r), "failed: first failed second done third skipped")
}

// TestInterruptWithoutWorker interrupts a run whose worker has died: it ends with the lease.
func TestInterruptWithoutWorker(t *testing.T) {
	b := newBench(t)
	r := b.held()
	task, err := b.claim(t.Context(), ticket{Run: r.ID, Phase: 1}, "dead", MinLease)
	if err != nil || task == nil {
		t.Fatal(task, err)
	}
	if err := b.Stop(t.Context(), r.ID, 1); err != nil {
		t.Fatal(err)
	}
	b.exec("UPDATE tasks SET lease = clock_timestamp() WHERE status = 'running'")
	b.patiently("the end of the lease", func() bool {
		if err := b.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		now, err := b.Run(t.Context(), r.ID)
		return err == nil && now.Over()
	})
	b.want(b.over(r), "cancelled: first failed second skipped third skipped")
	if err := b.finish(t.Context(), task, end{Outcome: []byte("{}")}); err != errLost {
		t.Errorf("a write after the lease: %v", err)
	}
	if err := b.may(t.Context(), task, true); err != errLost {
		t.Errorf("a change after the lease: %v", err)
	}
	if err := b.emit(t.Context(), task, []byte("x")); err != errLost {
		t.Errorf("an event after the lease: %v", err)
	}
}
