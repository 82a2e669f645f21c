package timings

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// slowest is how many instances and how many steps of a path are listed.
const slowest = 10

// Recorder collects what a run tells it, from many goroutines at once. A nil Recorder forgets
// everything.
type Recorder struct {
	began time.Time

	mu        sync.Mutex
	phases    []phase
	depth     int
	calls     map[Call]tally
	waits     map[string]tally
	instances []instance // the slowest ones, slowest first
	paths     []path

	trace   TraceID
	sink    func(Span) // of the trace; nil for none
	current ID         // the span of the innermost phase
	working map[fmt.Stringer]ID
}

// phase is a part of the run. Phases follow each other or lie within each other.
type phase struct {
	name  string
	depth int
	took  time.Duration
}

// tally adds up the durations of one kind of event.
type tally struct {
	count          int
	total, longest time.Duration
}

func (t tally) with(d time.Duration) tally {
	return tally{t.count + 1, t.total + d, max(t.longest, d)}
}

// Call is a kind of call to a provider.
type Call struct{ Provider, Method string }

// instance is the work on one resource instance.
type instance struct {
	addr string
	what string // what was done: plan, create, …
	took time.Duration
}

// New gives a recorder of a run that begins now.
func New() *Recorder {
	return &Recorder{began: time.Now(), calls: map[Call]tally{}, waits: map[string]tally{}, working: map[fmt.Stringer]ID{}}
}

// Phase begins a phase; the result ends it.
func (r *Recorder) Phase(name string) (end func()) {
	if r == nil {
		return func() {}
	}
	o := r.Begin(name)
	start := time.Now()
	r.mu.Lock()
	at, outer := len(r.phases), r.current
	r.phases = append(r.phases, phase{name: name, depth: r.depth})
	r.depth++
	r.current = o.id()
	r.mu.Unlock()
	return func() {
		o.End(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.phases[at].took = time.Since(start)
		r.depth--
		r.current = outer
	}
}

func (r *Recorder) called(c Call, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[c] = r.calls[c].with(took)
}

// Waited takes note of waiting for something that others had.
func (r *Recorder) Waited(what string, took time.Duration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits[what] = r.waits[what].with(took)
}

// worked takes note of the work on an instance, if it is among the slowest; r.mu is held.
func (r *Recorder) worked(addr fmt.Stringer, what string, took time.Duration) {
	if len(r.instances) == slowest && took <= r.instances[slowest-1].took {
		return
	}
	at, _ := slices.BinarySearchFunc(r.instances, took, func(other instance, took time.Duration) int {
		return cmp.Compare(took, other.took)
	})
	r.instances = slices.Insert(r.instances, at, instance{addr: addr.String(), what: what, took: took})
	if len(r.instances) > slowest {
		r.instances = r.instances[:slowest]
	}
}
