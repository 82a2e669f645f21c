package pace

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Kind says what a call does.
type Kind int

const (
	Local Kind = iota // validates, plans or converts; a rate doesn't count it
	Read              // reads from the provider's service
	Write             // changes something there, or runs a provisioner
)

const (
	// DefaultCalls is the maximum number of changes at a time, and the number of reads with which each
	// provider starts, unless the user sets limits.
	DefaultCalls = 10
	// mostReads is the maximum number of reads at a time of all providers together. More would cost
	// memory and help few services.
	mostReads = 200
)

// Slots are the slots of a run for calls. They are safe for concurrent use.
type Slots struct {
	limits Limits
	budget Budget // see Share; nil for none

	mu     sync.Mutex
	gates  map[string]*gate
	order  []*gate // all gates, in the order of their first use
	turn   int     // the gate that is served first when a common slot becomes free
	writes int     // slots in use that are limited together: all if the user has set a number, or else changes
	reads  int     // reads in use, if the user has set no number
	busy   usage
}

// New returns slots.
func New(l Limits) *Slots { return &Slots{limits: l, gates: make(map[string]*gate)} }

// Width is the maximum number of calls at a time.
func (s *Slots) Width() int {
	n := s.limits.Calls
	if n == 0 {
		n = mostReads
	}
	for _, own := range s.limits.Of {
		n += own
	}
	return min(n, maxCalls)
}

// Changes is the maximum number of changes at a time.
func (s *Slots) Changes() int {
	n := cmp.Or(s.limits.Calls, DefaultCalls)
	for _, own := range s.limits.Of {
		n += own
	}
	return min(n, maxCalls)
}

// Slot is the right to make calls, one after the other.
type Slot struct {
	slots *Slots
	gate  *gate
	kind  Kind
	began chan struct{} // closed when the slot is granted
}

// Acquire waits for a slot for a call of a provider, given as it is displayed. When stop is closed, it
// returns without one.
func (s *Slots) Acquire(provider string, kind Kind, stop <-chan struct{}) *Slot {
	slot := &Slot{slots: s, kind: kind, began: make(chan struct{})}
	s.mu.Lock()
	g := s.gate(provider)
	slot.gate = g
	g.waiting[kind] = append(g.waiting[kind], slot)
	s.serve(g)
	s.mu.Unlock()
	select {
	case <-slot.began:
		return slot
	case <-stop:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(g.waiting[kind], slot); i >= 0 {
		g.waiting[kind] = slices.Delete(g.waiting[kind], i, i+1)
		return &Slot{}
	}
	return slot // it was granted meanwhile
}

// Leave releases the caller's slot of a kind, so that others can use it. The returned function waits
// for one again.
func (s *Slots) Leave(provider string, kind Kind) (back func()) {
	s.mu.Lock()
	g := s.gate(provider)
	s.mu.Unlock()
	(&Slot{slots: s, gate: g, kind: kind}).Release()
	return func() { s.Acquire(provider, kind, nil) }
}

// Release returns the slot.
func (s *Slot) Release() {
	all := s.slots
	if all == nil {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	s.gate.running--
	if common := all.common(s.gate, s.kind); common != nil {
		*common--
	}
	all.busy.turn(-1, all.Width())
	all.serve(s.gate)
	for i := range all.order { // others may wait for a common slot
		at := (all.turn + i) % len(all.order)
		if all.order[at].waits() && all.serve(all.order[at]) {
			all.turn = at + 1
			break
		}
	}
}

// gate returns the gate of a provider. The caller has locked s.mu.
func (s *Slots) gate(provider string) *gate {
	g := s.gates[provider]
	if g == nil {
		g = newGate(s.limits, provider)
		s.gates[provider] = g
		s.order = append(s.order, g)
	}
	return g
}

// common returns the counter of slots that a call shares with other providers, or nil.
func (s *Slots) common(g *gate, kind Kind) *int {
	switch {
	case g.own:
		return nil
	case s.limits.Calls > 0 || kind == Write:
		return &s.writes
	}
	return &s.reads
}

// mayStart reports whether a call of a kind may start. The caller has locked s.mu.
func (s *Slots) mayStart(g *gate, kind Kind) bool {
	if g.running >= g.limit {
		return false
	}
	most := mostReads
	switch common := s.common(g, kind); {
	case common == nil:
		return true
	case s.limits.Calls > 0:
		return s.writes < s.limits.Calls
	case kind == Write:
		return s.writes < DefaultCalls
	default:
		return *common < most
	}
}

// serve grants slots to those who wait for a provider. It reports whether it has granted any. The
// caller has locked s.mu.
func (s *Slots) serve(g *gate) (served bool) {
	// Changes come first: there are few, and what depends on them is longer.
	for _, kind := range []Kind{Write, Local, Read} {
		for len(g.waiting[kind]) > 0 && s.mayStart(g, kind) {
			if kind != Local {
				if !s.covers(g) {
					break
				}
				if wait := g.rate.wait(time.Now()); wait > 0 {
					s.serveLater(g, wait)
					break
				}
				g.rate.take(time.Now())
				g.reserved.use()
			}
			slot := g.waiting[kind][0]
			g.waiting[kind] = g.waiting[kind][1:]
			g.running++
			g.most = max(g.most, g.running)
			if common := s.common(g, kind); common != nil {
				*common++
			}
			s.busy.turn(1, s.Width())
			close(slot.began)
			served = true
		}
	}
	return served
}

// serveLater serves a gate again when its rate allows another call. The caller has locked s.mu.
func (s *Slots) serveLater(g *gate, wait time.Duration) {
	if g.timer {
		return
	}
	g.timer = true
	time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		g.timer = false
		s.serve(g)
	})
}

// usage measures for how long slots were in use.
type usage struct {
	busy  int       // number of slots in use
	since time.Time // when busy last changed
	used  time.Duration
}

func (u *usage) turn(by, of int) {
	now := time.Now()
	if u.busy > 0 {
		u.used += now.Sub(u.since) * time.Duration(u.busy) / time.Duration(of)
	}
	u.busy, u.since = u.busy+by, now
}

// Used returns for how long all slots have been in use. Times in which only some of them were in use
// count in proportion.
func (s *Slots) Used() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy.turn(0, s.Width())
	return s.busy.used
}
