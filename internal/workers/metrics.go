package workers

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Metrics counts what a worker does. The methods of a nil Metrics do nothing.
type Metrics struct {
	mu       sync.Mutex
	now      int
	failures int
	tasks    map[[2]string]*took // by kind of the phase and how it ended
	waits    took
}

// took is a number of events and the sum of their durations.
type took struct {
	n   int
	sum time.Duration
}

func (m *Metrics) update(do func()) {
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		do()
	}
}

func (m *Metrics) running(n int) { m.update(func() { m.now = n }) }

func (m *Metrics) failure() { m.update(func() { m.failures++ }) }

func (m *Metrics) waited(d time.Duration) {
	m.update(func() {
		m.waits.n++
		m.waits.sum += d
	})
}

func (m *Metrics) ended(t *Task, how string, after time.Duration) {
	m.update(func() {
		key := [2]string{"plan", how}
		if t.Phase%2 == 0 {
			key[0] = "apply"
		}
		if m.tasks == nil {
			m.tasks = make(map[[2]string]*took)
		}
		if m.tasks[key] == nil {
			m.tasks[key] = &took{}
		}
		m.tasks[key].n++
		m.tasks[key].sum += after
	})
}

// WriteTo writes the metrics in the text format of Prometheus.
func (m *Metrics) WriteTo(w io.Writer) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var n int64
	var failed error
	say := func(format string, args ...any) {
		if failed == nil {
			var k int
			k, failed = fmt.Fprintf(w, format, args...)
			n += int64(k)
		}
	}
	say("# HELP tofu_worker_running Root modules that the worker works on now.\n# TYPE tofu_worker_running gauge\n"+
		"tofu_worker_running %d\n", m.now)
	say("# HELP tofu_worker_queue_failures_total Heartbeats that the database did not answer.\n"+
		"# TYPE tofu_worker_queue_failures_total counter\ntofu_worker_queue_failures_total %d\n", m.failures)
	say("# HELP tofu_worker_wait_seconds Time from when a root module could start until it did.\n"+
		"# TYPE tofu_worker_wait_seconds summary\ntofu_worker_wait_seconds_sum %g\ntofu_worker_wait_seconds_count %d\n",
		m.waits.sum.Seconds(), m.waits.n)
	say("# HELP tofu_worker_root_seconds Time of the work on root modules.\n# TYPE tofu_worker_root_seconds summary\n")
	for _, key := range slices.SortedFunc(maps.Keys(m.tasks), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		labels := fmt.Sprintf("{operation=%q,end=%q}", key[0], key[1])
		say("tofu_worker_root_seconds_sum%s %g\n", labels, m.tasks[key].sum.Seconds())
		say("tofu_worker_root_seconds_count%s %d\n", labels, m.tasks[key].n)
	}
	return n, failed
}
