package workers

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestOrder has tasks with random needs, of which some fail. Each starts after those that it needs, if these and all
// before them have succeeded.
func TestOrder(t *testing.T) {
	b := newBench(t)
	for range 2 {
		b.start(4)
	}
	r := &Run{}
	good := make([]bool, 40)
	for i := range good {
		needs := make(map[int]bool)
		for range rand.IntN(4) {
			if i > 0 {
				needs[rand.IntN(i)] = true
			}
		}
		fail := rand.IntN(8) == 0
		good[i] = !fail
		task := &Task{Root: fmt.Sprint("r", i), Input: b.input(instructions{Fail: fail})}
		for n := range needs {
			task.Needs = append(task.Needs, n)
			good[i] = good[i] && good[n]
		}
		r.Tasks = append(r.Tasks, task)
	}
	b.over(b.enqueue(r))
	tasks := b.tasks(r)
	for i, task := range tasks {
		if good[i] != (task.Status == TaskDone) {
			t.Errorf("%s is %s: %s", task.Root, task.Status, task.Outcome)
		}
		ran := strings.Count(b.lines(), "begin "+task.Root+"\n")
		for _, n := range task.Needs {
			switch before := tasks[n]; {
			case !good[n] && (task.Status != TaskSkipped || ran > 0):
				t.Errorf("%s is %s, although %s is %s", task.Root, task.Status, before.Root, before.Status)
			case good[n] && ran > 0 && task.Started.Before(before.Ended):
				t.Errorf("%s started before the end of %s", task.Root, before.Root)
			}
		}
		if ran > 1 || ran == 0 && task.Status != TaskSkipped {
			t.Errorf("%s ran %d times: %s", task.Root, ran, task.Status)
		}
	}
}
