package timings

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime/metrics"
	"slices"
	"strings"
	"time"
)

// lockMetric is the runtime metric for the time that goroutines have waited for locks.
const lockMetric = "/sync/mutex/wait/total:seconds"

// Report prints the recorded durations. It omits empty parts.
func (r *Recorder) Report(out io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "\nTimings: %s in all\n", seconds(time.Since(r.began)))
	r.reportPhases(&b)
	r.reportRootPhases(&b)
	r.reportCalls(&b)
	r.reportLimits(&b)
	r.reportWaits(&b)
	r.reportInstances(&b)
	for _, p := range r.paths {
		p.report(&b)
	}
	_, _ = io.WriteString(out, b.String())
}

func (r *Recorder) reportPhases(b *strings.Builder) {
	if len(r.phases) == 0 {
		return
	}
	b.WriteString("\nPhases:\n")
	for _, p := range r.phases {
		fmt.Fprintf(b, "  %s  %s%s\n", seconds(p.took), strings.Repeat("  ", p.depth), p.name)
	}
}

func (r *Recorder) reportCalls(b *strings.Builder) {
	if len(r.calls) == 0 {
		return
	}
	b.WriteString("\nProvider calls:\n")
	keys := slices.SortedFunc(maps.Keys(r.calls), func(x, y Call) int {
		return cmp.Or(cmp.Compare(r.calls[y].total, r.calls[x].total), cmp.Compare(x.Provider, y.Provider),
			cmp.Compare(x.Method, y.Method))
	})
	fmt.Fprintf(b, "  %10s  %7s  %10s  %10s\n", "total", "calls", "mean", "longest")
	for _, k := range keys {
		t := r.calls[k]
		fmt.Fprintf(b, "  %s  %7d  %s  %s  %s %s\n", seconds(t.total), t.count,
			seconds(t.total/time.Duration(t.count)), seconds(t.longest), k.Provider, k.Method)
	}
}

func (r *Recorder) reportLimits(b *strings.Builder) {
	var lines []string
	for _, of := range r.limits {
		lines = append(lines, of()...)
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\nLimits of providers:\n  %s\n", strings.Join(lines, "\n  "))
	}
}

func (r *Recorder) reportWaits(b *strings.Builder) {
	b.WriteString("\nWaits:\n")
	fmt.Fprintf(b, "  %10s  %7s  %10s\n", "total", "times", "longest")
	for _, what := range slices.Sorted(maps.Keys(r.waits)) {
		t := r.waits[what]
		fmt.Fprintf(b, "  %s  %7d  %s  %s\n", seconds(t.total), t.count, seconds(t.longest), what)
	}
	sample := []metrics.Sample{{Name: lockMetric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() == metrics.KindFloat64 {
		fmt.Fprintf(b, "  %s  %7s  %10s  for locks within the program\n",
			seconds(time.Duration(sample[0].Value.Float64()*float64(time.Second))), "", "")
	}
}

func (r *Recorder) reportInstances(b *strings.Builder) {
	if len(r.instances) == 0 {
		return
	}
	b.WriteString("\nSlowest instances:\n")
	for _, i := range r.instances {
		fmt.Fprintf(b, "  %s  %s %s\n", seconds(i.took), i.what, i.addr)
	}
}

// report prints the longest steps of the path in execution order.
func (p path) report(b *strings.Builder) {
	var worked, idle time.Duration
	for _, s := range p.steps {
		worked, idle = worked+s.took, idle+s.idle
	}
	fmt.Fprintf(b, "\nCritical path of %s: %d of %d nodes, which worked for %s and waited for their turn for %s:\n",
		p.name, len(p.steps), p.nodes, strings.TrimSpace(seconds(worked)), strings.TrimSpace(seconds(idle)))
	order := make([]int, len(p.steps))
	for i := range order {
		order[i] = i
	}
	length := func(i int) time.Duration { return p.steps[i].took + p.steps[i].idle }
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(length(j), length(i)) })
	shown := map[int]bool{}
	for _, i := range order[:min(slowest, len(order))] {
		shown[i] = true
	}
	left := 0
	for i, s := range p.steps {
		if !shown[i] {
			left++
			continue
		}
		fmt.Fprintf(b, "  %s  %s", seconds(s.took), s.name)
		if s.idle >= time.Millisecond {
			fmt.Fprintf(b, ", after waiting for %s", strings.TrimSpace(seconds(s.idle)))
		}
		b.WriteByte('\n')
	}
	if left > 0 {
		fmt.Fprintf(b, "  and %d shorter ones\n", left)
	}
	for _, inner := range p.within {
		inner.report(b)
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%8.3f s", d.Seconds()) }
