package pace

import (
	"slices"
	"time"
)

// gate holds what limits one provider. The mutex of its Slots guards it.
type gate struct {
	provider string
	own      bool // whether the user has set a limit for this provider alone
	limit    int  // maximum number of calls at a time, now
	ceiling  int  // maximum of limit
	floor    int  // limit to which slower calls bring it down
	running  int
	waiting  [3][]*Slot // by kind
	timer    bool       // whether a timer will serve those who wait for the rate
	rate     rate
	reserved reserved

	careful   bool      // whether calls were refused: the limit then grows slowly
	good      int       // successful calls since the limit last changed
	halved    time.Time // when the limit was last halved
	slowness  average   // durations of calls, compared with those at the start
	usual     map[string]*beginning
	accepted  meter
	total     int // accepted calls
	again     int // reads that were asked again because their answers were late
	most      int // maximum of running
	lowest    int // minimum of limit after calls were refused; 0 if none was
	throttled int
	repeated  int
	hopeless  bool // whether a call was refused for good, and none was accepted since
}

func newGate(l Limits, provider string) *gate {
	g := &gate{provider: provider, usual: make(map[string]*beginning)}
	if n, ok := lookup(l.Of, provider); ok {
		g.own, g.limit = true, n
	} else {
		g.limit = l.Calls
	}
	g.ceiling, g.floor = g.limit, g.limit
	if g.limit == 0 {
		g.limit, g.floor, g.ceiling = DefaultCalls, DefaultCalls, mostReads
	}
	g.rate.most, _ = lookup(l.Rates, provider)
	g.rate.now = g.rate.most
	return g
}

func (g *gate) waits() bool {
	return len(g.waiting[Local])+len(g.waiting[Read])+len(g.waiting[Write]) > 0
}

// Result is the outcome of a call.
type Result struct {
	Kind      Kind
	Type      string // what was read; calls of one type take about the same time
	Took      time.Duration
	Began     time.Time
	Throttled bool // whether the provider says that there were too many calls
	Failed    bool
}

const (
	quick  = 10 * time.Millisecond // more slots don't help calls that are quicker
	same   = 1.3                   // calls that take at most this many times as long are not slower
	slower = 2.0
)

// Done records how a call of a provider went, and adapts its limits.
func (s *Slots) Done(provider string, r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, now := s.gate(provider), time.Now()
	switch {
	case r.Throttled:
		g.refuse(r, now)
	case !r.Failed && r.Kind != Local: // that a local call succeeds says nothing about the service
		g.accept(r, now)
		s.serve(g)
	}
}

// refuse halves the limit. Calls that began before the last time it was halved don't count: they say
// nothing about the present limit.
func (g *gate) refuse(r Result, now time.Time) {
	g.throttled++
	if r.Began.Before(g.halved) {
		return
	}
	g.halved, g.careful, g.good = now, true, 0
	g.limit = max(1, min(g.limit, max(g.running, 1))/2)
	g.lowest = g.limit
	if g.throttled > 1 || g.limit == 1 {
		g.rate.lower(g.accepted.perSecond(now))
	}
}

// accept raises the limit if the provider can do with more.
func (g *gate) accept(r Result, now time.Time) {
	g.good++
	g.total++
	g.hopeless = false
	g.accepted.count(now)
	g.rate.raise(now)
	if r.Type != "" {
		usual := g.usual[r.Type]
		if usual == nil {
			usual = &beginning{}
			g.usual[r.Type] = usual
		}
		usual.add(r.Took.Seconds())
		g.slowness.add(r.Took.Seconds() / max(usual.median(), 1e-6))
	}
	switch {
	case g.limit < g.floor || g.careful: // one more after each round of calls
		if g.good >= g.limit && g.limit < g.ceiling {
			g.limit, g.good = g.limit+1, 0
		}
	case g.slowness.value > slower && g.limit > g.floor:
		g.limit--
	case g.slowness.value <= same && r.Took > quick && r.Type != "" && g.limit < g.ceiling &&
		len(g.waiting[Read])+len(g.waiting[Local]) > 0:
		g.limit++
	}
}

// beginning has the first values of a series, sorted. Their median hardly depends on single large ones.
type beginning struct {
	values [DefaultCalls]float64
	n      int // number of values
}

func (b *beginning) add(v float64) {
	if b.n < len(b.values) {
		b.values[b.n] = v
		b.n++
		slices.Sort(b.values[:b.n])
	}
}

func (b *beginning) full() bool { return b.n == len(b.values) }

func (b *beginning) median() float64 { return b.values[(b.n-1)/2] }

// average is a moving average over about the last twenty values.
type average struct {
	value float64
	n     int
}

func (a *average) add(v float64) {
	a.n++
	a.value += (v - a.value) / float64(min(a.n, 20))
}

// meter counts events per second, over the last two to four seconds.
type meter struct {
	since, before time.Time
	now, last     int
}

const period = 2 * time.Second

func (m *meter) count(now time.Time) {
	if m.since.IsZero() {
		m.since, m.before = now, now
	}
	if now.Sub(m.since) >= period {
		m.before, m.last = m.since, m.now
		m.since, m.now = now, 0
	}
	m.now++
}

func (m *meter) perSecond(now time.Time) float64 {
	if m.since.IsZero() {
		return 0
	}
	return float64(m.now+m.last) / max(now.Sub(m.before).Seconds(), 1)
}

// rate limits calls per second. Zero means no limit.
type rate struct {
	most float64 // what the user allows
	now  float64
	next time.Time // when the next call may start
	at   time.Time // when the rate last changed
	held bool      // whether a call has waited since then
}

// wait returns how long the next call must wait.
func (r *rate) wait(now time.Time) time.Duration {
	if r.now == 0 || !r.next.After(now) {
		return 0
	}
	r.held = true
	return r.next.Sub(now)
}

// take counts a call.
func (r *rate) take(now time.Time) {
	if r.now == 0 {
		return
	}
	if r.next.Before(now) {
		r.next = now
	}
	r.next = r.next.Add(time.Duration(float64(time.Second) / r.now))
}

// lower sets the rate below the one at which calls were accepted.
func (r *rate) lower(accepted float64) {
	r.now = max(0.9*accepted, 0.5)
	if r.most > 0 {
		r.now = min(r.now, r.most)
	}
	r.at, r.held = time.Now(), false
}

// raise raises a lowered rate by one percent after each half second without a refusal in which calls
// have waited for it.
func (r *rate) raise(now time.Time) {
	if r.now == r.most || !r.held || now.Sub(r.at) < time.Second/2 {
		return
	}
	r.now, r.at, r.held = 1.01*r.now, now, false
	if r.most > 0 {
		r.now = min(r.now, r.most)
	}
}
