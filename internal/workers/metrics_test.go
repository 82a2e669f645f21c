package workers

import (
	"regexp"
	"strings"
	"testing"
)

// TestMetrics has tasks that end in each of the ways, and a trace.
func TestMetrics(t *testing.T) {
	b := newBench(t)
	s := b.start(2)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	hold := b.input(instructions{Hold: b.hold})
	r := b.enqueue(&Run{Trace: trace, Tasks: []*Task{{Root: "one"}, {Root: "held", Input: hold}, {Root: "lost", Input: hold},
		{Root: "crashed", Input: b.input(instructions{Crash: []byte("x")}), Needs: []int{0}}}})
	b.waitFor("begin held")
	b.waitFor("begin lost")
	b.patiently("the count of running tasks", func() bool { return strings.Contains(s.metrics(t), "tofu_worker_running 2\n") })
	b.exec("UPDATE tasks SET fence = fence + 1, status = 'failed', ended = now(), outcome = '{}' WHERE root = 'lost'")
	b.patiently("the loss of a lease", func() bool { return strings.Contains(s.metrics(t), `end="lost"`) })
	b.proceed()
	b.over(r)
	if n := strings.Count(b.lines(), "trace "+trace+" "); n != 3+maxTries {
		t.Errorf("the trace was passed on %d times:\n%s", n, b.lines())
	}
	close(s.stop)
	s.end()
	text := regexp.MustCompile(`_sum(\{.*\})? [0-9.e-]+\n`).ReplaceAllString(s.metrics(t), "_sum$1 SECONDS\n")
	text = regexp.MustCompile("running [0-9]").ReplaceAllString(text, "running N")
	const want = `# HELP tofu_worker_running Root modules that the worker works on now.
# TYPE tofu_worker_running gauge
tofu_worker_running N
# HELP tofu_worker_queue_failures_total Heartbeats that the database did not answer.
# TYPE tofu_worker_queue_failures_total counter
tofu_worker_queue_failures_total 0
# HELP tofu_worker_wait_seconds Time from when a root module could start until it did.
# TYPE tofu_worker_wait_seconds summary
tofu_worker_wait_seconds_sum SECONDS
tofu_worker_wait_seconds_count 6
# HELP tofu_worker_root_seconds Time of the work on root modules.
# TYPE tofu_worker_root_seconds summary
tofu_worker_root_seconds_sum{operation="plan",end="finished"} SECONDS
tofu_worker_root_seconds_count{operation="plan",end="finished"} 2
tofu_worker_root_seconds_sum{operation="plan",end="lost"} SECONDS
tofu_worker_root_seconds_count{operation="plan",end="lost"} 1
tofu_worker_root_seconds_sum{operation="plan",end="unfinished"} SECONDS
tofu_worker_root_seconds_count{operation="plan",end="unfinished"} 3
`
	b.want(text, want)
}

func (s *started) metrics(t *testing.T) string {
	var text strings.Builder
	if n, err := s.Metrics.WriteTo(&text); err != nil || n != int64(text.Len()) {
		t.Error(n, err)
	}
	return text.String()
}
