package workers

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// processes returns the processes that have worked on tasks, in this order.
func (b *bench) processes() (out []string) {
	for _, found := range regexp.MustCompile(`(?m)^process (\d+) `).FindAllStringSubmatch(b.lines(), -1) {
		out = append(out, found[1])
	}
	return out
}

// TestProcesses has several runs: their tasks share a process, unless it ends. Each has the variables of its run.
func TestProcesses(t *testing.T) {
	b := newBench(t)
	s := b.start(1)
	crash := b.input(instructions{Crash: []byte("x")})
	b.over(b.enqueue(&Run{Trace: "a", Tasks: []*Task{{Root: "one"}, {Root: "two"}}}))
	b.over(b.enqueue(&Run{Tasks: []*Task{{Root: "three"}}}))
	b.over(b.enqueue(&Run{Trace: "b", Tasks: []*Task{{Root: "four"}, {Root: "five", Needs: []int{0}, Input: crash}}}))
	for _, line := range []string{"trace a one", "trace a two", "trace  three", "trace b four"} {
		if !strings.Contains(b.lines(), line+"\n") {
			t.Errorf("%s is missing", line)
		}
	}
	got := b.processes()
	if len(got) != 4+maxTries || got[0] != got[1] || got[1] != got[2] || got[2] != got[3] || got[3] != got[4] ||
		got[4] == got[5] || got[5] == got[6] {
		t.Errorf("the processes are %v. The log is:\n%s", got, b.lines())
	}
	s.Worker.mu.Lock()
	defer s.Worker.mu.Unlock()
	if len(s.idle) > 0 {
		t.Errorf("%d processes are left", len(s.idle))
	}
}

// TestIdleProcess has a process that ends while it waits for a task: it gets none.
func TestIdleProcess(t *testing.T) {
	b := newBench(t)
	s := b.start(2)
	b.over(b.enqueue(&Run{Tasks: []*Task{{Root: "one"}}}))
	p, err := s.take()
	if err != nil {
		t.Fatal(err)
	}
	if got := b.processes(); len(got) != 1 || got[0] != fmt.Sprint(p.cmd.Process.Pid) {
		t.Errorf("the process %d was taken, but %v has worked", p.cmd.Process.Pid, got)
	}
	s.keep(p)
	killGroup(p.cmd)
	b.patiently("the end of the process", func() bool {
		select {
		case _, more := <-p.messages:
			return !more
		default:
			return false
		}
	})
	next, err := s.take()
	if err != nil || next == p {
		t.Fatalf("the process that has ended was taken, %v", err)
	}
	next.end()
}
