package timings

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// slowest is the maximum number of instances and path steps that are listed.
const slowest = 10

// Recorder records durations in a run. It is safe for concurrent use. A nil Recorder does nothing.
type Recorder struct {
	began time.Time

	mu        sync.Mutex
	phases    []phase
	depth     int
	calls     map[Call]tally
	waits     map[string]tally
	instances []instance // the slowest instances, in descending order
	paths     []path
	// Sums of what other recorders have recorded for root modules; see Root.
	rootPhases map[string]tally
	limits     []func() []string
	inRoots    map[string][]path // paths by root module, until the walk over root modules ends

	trace   TraceID
	sink    func(Span) // receives the spans of the trace; may be nil
	current ID         // ID of the innermost phase's span
	working map[fmt.Stringer]ID
}

// phase is a part of the run. Phases follow one another or are nested.
type phase struct {
	name  string
	depth int
	took  time.Duration
}

// tally sums the durations of one kind of event.
type tally struct {
	count          int
	total, longest time.Duration
}

func (t tally) with(d time.Duration) tally {
	return tally{t.count + 1, t.total + d, max(t.longest, d)}
}

func (t tally) plus(other tally) tally {
	return tally{t.count + other.count, t.total + other.total, max(t.longest, other.longest)}
}

// Call is a kind of call to a provider.
type Call struct{ Provider, Method string }

// instance is the work on one resource instance.
type instance struct {
	addr string
	what string // kind of work: plan, create, …
	took time.Duration
}

// New returns a Recorder for a run that starts now.
func New() *Recorder {
	return &Recorder{began: time.Now(), calls: map[Call]tally{}, waits: map[string]tally{},
		working: map[fmt.Stringer]ID{}}
}

// Phase starts a phase. The returned function ends it.
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

// Waited records the time spent waiting for a shared resource.
func (r *Recorder) Waited(what string, took time.Duration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits[what] = r.waits[what].with(took)
}

// Limited makes the report list what limits of providers have done. lines returns that at the end.
func (r *Recorder) Limited(lines func() []string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limits = append(r.limits, lines)
}

// worked records the work on an instance if it is among the slowest. The caller has locked r.mu.
func (r *Recorder) worked(addr fmt.Stringer, what string, took time.Duration) {
	if r.isSlow(took) {
		r.addInstance(instance{addr: addr.String(), what: what, took: took})
	}
}

// isSlow reports whether an instance with this duration is among the slowest.
func (r *Recorder) isSlow(took time.Duration) bool {
	return len(r.instances) < slowest || took > r.instances[slowest-1].took
}

func (r *Recorder) addInstance(i instance) {
	if !r.isSlow(i.took) {
		return
	}
	at, _ := slices.BinarySearchFunc(r.instances, i.took, func(other instance, took time.Duration) int {
		return cmp.Compare(took, other.took)
	})
	r.instances = slices.Insert(r.instances, at, i)
	if len(r.instances) > slowest {
		r.instances = r.instances[:slowest]
	}
}
