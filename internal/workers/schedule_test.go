package workers

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// most returns how many tasks with names that begin with prefix ran at the same time.
func (b *bench) most(prefix string) (most int) {
	now := 0
	for line := range strings.Lines(b.lines()) {
		switch what, root, _ := strings.Cut(strings.TrimSpace(line), " "); {
		case !strings.HasPrefix(root, prefix):
		case what == "begin":
			now++
		case what == "end":
			now--
		}
		most = max(most, now)
	}
	return most
}

// many returns tasks with names that begin with prefix, which take a while.
func (b *bench) many(prefix string, n int, labels ...string) (out []*Task) {
	for i := range n {
		out = append(out, &Task{Root: fmt.Sprint(prefix, i), Labels: labels, Input: b.input(instructions{Sleep: 50 * time.Millisecond})})
	}
	return out
}

// TestLimits has two runs with tasks of a limited label, and others that go on at the same time.
func TestLimits(t *testing.T) {
	b := newBench(t)
	for range 2 {
		b.start(4, "account=prod", "zone=eu")
	}
	limits := map[string]int{"account=prod": 2}
	one := b.enqueue(&Run{Tasks: append(b.many("prod", 6, "account=prod", "zone=eu"), b.many("free", 6)...), Limits: limits})
	two := b.enqueue(&Run{Tasks: b.many("prod", 6, "account=prod"), Limits: limits})
	for _, r := range []*Run{one, two} {
		if is := b.over(r); strings.Count(is, "done") != len(r.Tasks)+1 {
			t.Error(is)
		}
	}
	if most := b.most("prod"); most != 2 {
		t.Errorf("%d tasks with the label ran at once, not 2", most)
	}

	// If the newest run has no limit, no limit holds.
	three := b.enqueue(&Run{Tasks: b.many("more", 6, "account=prod")})
	b.over(three)
	if most := b.most("more"); most < 3 {
		t.Errorf("%d tasks with the label ran at once after its limit was removed", most)
	}
}

// TestLimitWithoutWorker has a run that uses up a limit, and that no worker can take or go on with. It waits, and others
// go on.
func TestLimitWithoutWorker(t *testing.T) {
	b := newBench(t)
	limits := map[string]int{"account=prod": 1}
	never := b.enqueue(&Run{Tasks: b.many("never", 2, "account=prod", "zone=mars"), Limits: limits})
	b.start(2, "account=prod", "zone=eu")
	b.want(b.over(b.enqueue(&Run{Tasks: b.many("first", 1, "account=prod", "zone=eu"), Limits: limits})), "done: first0 done")

	f := b.Follow(t.Context(), never.ID)
	if _, err := f.Begin(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if text := b.waits(f); !strings.Contains(text, "No worker takes the root modules with the labels account=prod,zone=mars.") {
		t.Error(text)
	}

	// The only worker of a zone ends before it has taken a job.
	b.exec(`INSERT INTO workers (id, host, program, protocol, labels, jobs)
		VALUES ('short', 'h', 'p', $1, '{account=prod,zone=mars}', 1)`, Protocol)
	b.patiently("a job for the worker", func() bool { return b.tasks(never)[0].Status == TaskQueued })
	b.exec("DELETE FROM workers WHERE id = 'short'")
	b.want(b.over(b.enqueue(&Run{Tasks: b.many("second", 1, "account=prod", "zone=eu"), Limits: limits})), "done: second0 done")
	b.start(1, "account=prod", "zone=mars")
	b.want(b.over(never), "done: never0 done never1 done")
}

// waits returns what a follower says about waiting.
func (b *bench) waits(f *Follower) string {
	b.Helper()
	f.since = f.since.Add(-waitsAfter)
	diags, err := f.Waits(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var out string
	for _, d := range diags {
		out += d.Summary + ": " + d.Detail
	}
	return out
}

// TestWaitForLimit has a run that waits for another one because of a limit, which its follower is told once.
func TestWaitForLimit(t *testing.T) {
	b := newBench(t)
	b.start(4, "account=prod")
	limits := map[string]int{"account=prod": 1}
	first := b.enqueue(&Run{Tasks: []*Task{{Root: "first", Labels: []string{"account=prod"},
		Input: b.input(instructions{Hold: b.hold})}}, Limits: limits})
	b.waitFor("begin first")
	second := b.enqueue(&Run{Tasks: b.many("second", 2, "account=prod"), Limits: limits})
	for r, want := range map[*Run]string{first: "", second: "Root modules wait for those of other runs: They have as many with " +
		"these labels as label_limits allows: account=prod (1)."} {
		f := b.Follow(t.Context(), r.ID)
		if _, err := f.Begin(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		b.want(b.waits(f), want)
		b.want(b.waits(f), "")
	}
	b.proceed()
	b.over(second)
}

// started returns the roots of runs in the order in which their tasks started.
func (b *bench) started(runs ...*Run) (out []string) {
	var all []*Task
	for _, r := range runs {
		b.over(r)
		all = append(all, b.tasks(r)...)
	}
	slices.SortFunc(all, func(x, y *Task) int { return x.Started.Compare(y.Started) })
	for _, t := range all {
		out = append(out, t.Root)
	}
	return out
}

// TestFairness has a small run that comes after a large one: they take turns.
func TestFairness(t *testing.T) {
	b := newBench(t)
	large := b.enqueue(&Run{Tasks: b.many("large", 20)})
	small := b.enqueue(&Run{Tasks: b.many("small", 3)})
	b.start(1)
	order := b.started(large, small)
	if last := slices.Index(order, "small2"); last > fewest+2*3 {
		t.Errorf("the small run had to wait for too many others: %v", order)
	}
}

// TestPriorities has an urgent run that comes after two others, and one that can wait.
func TestPriorities(t *testing.T) {
	b := newBench(t)
	later := b.enqueue(&Run{Tasks: b.many("later", 8), Priority: 4})
	usual := b.enqueue(&Run{Tasks: b.many("usual", 8)})
	urgent := b.enqueue(&Run{Tasks: b.many("urgent", 3), Priority: 1})
	b.start(1)
	order := b.started(later, usual, urgent)
	if last := slices.Index(order, "urgent2"); last > fewest+2 {
		t.Errorf("the urgent run had to wait: %v", order)
	}
	if slices.Index(order, "later7") != len(order)-1 {
		t.Errorf("the run that can wait did not: %v", order)
	}
}

// TestChoose checks the order of jobs without a database.
func TestChoose(t *testing.T) {
	task := func(run string, n, priority int, labels ...string) *readyTask {
		return &readyTask{run: run, queue: "q", n: n, priority: priority, labels: labels}
	}
	for _, test := range []struct {
		name  string
		s     scheduler
		want  string
		taken map[string]int64
	}{
		{"turns", scheduler{ready: []*readyTask{task("a", 0, 2), task("a", 1, 2), task("a", 2, 2), task("b", 0, 2), task("b", 1, 2)}},
			"a0 b0 a1 b1", map[string]int64{"a": 2, "b": 2}},
		{"behind", scheduler{ready: []*readyTask{task("a", 0, 2), task("b", 0, 2), task("b", 1, 2)}, virtual: map[string]int64{"a": 5}},
			"b0 b1 a0", map[string]int64{"a": 1, "b": 2}},
		{"priority", scheduler{ready: []*readyTask{task("a", 0, 2), task("b", 0, 1), task("b", 1, 1)}},
			"b0 b1 a0", map[string]int64{"a": 1, "b": 2}},
		{"limit", scheduler{ready: []*readyTask{task("a", 0, 2, "l"), task("a", 1, 2, "l"), task("a", 2, 2), task("b", 0, 2, "l")},
			limits: map[string]int{"l": 1}}, "a0 a2", map[string]int64{"a": 2}},
		{"two limits", scheduler{ready: []*readyTask{task("a", 0, 2, "l", "m"), task("a", 1, 2, "l"), task("a", 2, 2, "m")},
			limits: map[string]int{"l": 2, "m": 1}}, "a0 a1", map[string]int64{"a": 2}},
		{"busy", scheduler{ready: []*readyTask{task("a", 0, 2, "l"), task("a", 1, 2)}, limits: map[string]int{"l": 1},
			busy: map[string]int{"l": 1}}, "a1", map[string]int64{"a": 1}},
	} {
		s := test.s
		s.room = map[string]int{"q": 4}
		if s.virtual == nil {
			s.virtual = make(map[string]int64)
		}
		if s.busy == nil {
			s.busy = make(map[string]int)
		}
		var got []string
		for _, one := range s.choose() {
			got = append(got, fmt.Sprint(one.run, one.n))
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: got %q, want %q", test.name, text, test.want)
		}
		if fmt.Sprint(s.taken) != fmt.Sprint(test.taken) {
			t.Errorf("%s: the jobs are counted as %v, not %v", test.name, s.taken, test.taken)
		}
	}
}

// TestEnqueueAtOnce enqueues runs with the same limits and labels at the same time.
func TestEnqueueAtOnce(t *testing.T) {
	b := newBench(t)
	limits := make(map[string]int)
	var tasks []*Task
	for i := range 30 {
		label := fmt.Sprint("account=", i)
		limits[label] = 1
		tasks = append(tasks, &Task{N: i, Root: label, Labels: []string{label}, Input: b.input(instructions{})})
	}
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			r := &Run{ID: NewID(), Operation: "plan", Phase: 1, Priority: 2, Limits: limits, Tasks: tasks}
			if err := b.Enqueue(r)(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestReserve checks that the calls that workers reserve don't overlap, for each account and provider.
func TestReserve(t *testing.T) {
	b := newBench(t)
	waits := make(chan time.Duration, 10)
	began := time.Now()
	for range cap(waits) {
		go func() {
			wait, err := b.Queue.reserve(t.Context(), "prod", reserve{"hashicorp/aws", 10, 5})
			if err != nil {
				t.Error(err)
			}
			waits <- wait + time.Since(began)
		}()
	}
	var firsts []time.Duration
	for range cap(waits) {
		firsts = append(firsts, <-waits)
	}
	slices.Sort(firsts)
	for i, first := range firsts[1:] {
		if gap := first - firsts[i]; gap < 300*time.Millisecond {
			t.Errorf("a batch of calls begins %s after another one, not 0.5 s", gap)
		}
	}
	for _, account := range []string{"test", ""} {
		if wait, err := b.Queue.reserve(t.Context(), account, reserve{"hashicorp/aws", 10, 5}); err != nil || wait > 0 {
			t.Errorf("the account %q waits for %s: %v", account, wait, err)
		}
	}
	if wait, err := b.Queue.reserve(t.Context(), "prod", reserve{"hashicorp/dns", 10, 5}); err != nil || wait > 0 {
		t.Errorf("another provider waits for %s: %v", wait, err)
	}
	if got := accountOf([]string{"account=prod", "zone=eu"}); got != "prod" {
		t.Errorf("the account is %q", got)
	}
}
