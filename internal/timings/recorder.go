package timings

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// slowest is how many instances and how many steps of a path are listed.
const slowest = 10

// Recorder collects what a run tells it, from many goroutines at once. A nil Recorder forgets everything.
type Recorder struct {
	began time.Time

	mu        sync.Mutex
	phases    []phase
	depth     int
	calls     map[Call]tally
	waits     map[string]tally
	instances []Instance // the slowest ones, slowest first
	paths     []path
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

// Instance is the work on one resource instance.
type Instance struct {
	Addr string
	What string // what was done: plan, create, …
	Took time.Duration
}

// New gives a recorder of a run that begins now.
func New() *Recorder {
	return &Recorder{began: time.Now(), calls: map[Call]tally{}, waits: map[string]tally{}}
}

// Phase begins a phase; the result ends it.
func (r *Recorder) Phase(name string) (end func()) {
	if r == nil {
		return func() {}
	}
	start := time.Now()
	r.mu.Lock()
	at := len(r.phases)
	r.phases = append(r.phases, phase{name: name, depth: r.depth})
	r.depth++
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.phases[at].took = time.Since(start)
		r.depth--
	}
}

// Called takes note of a call that a provider answered.
func (r *Recorder) Called(c Call, took time.Duration) {
	if r == nil {
		return
	}
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

// Slow tells whether an instance that took so long would be listed so far: whoever names it need not name those that are not.
func (r *Recorder) Slow(took time.Duration) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.instances) < slowest || took > r.instances[slowest-1].Took
}

// Worked takes note of the work on an instance.
func (r *Recorder) Worked(i Instance) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.instances) == slowest && i.Took <= r.instances[slowest-1].Took {
		return
	}
	at, _ := slices.BinarySearchFunc(r.instances, i.Took, func(other Instance, took time.Duration) int {
		return cmp.Compare(took, other.Took)
	})
	r.instances = slices.Insert(r.instances, at, i)
	if len(r.instances) > slowest {
		r.instances = r.instances[:slowest]
	}
}
