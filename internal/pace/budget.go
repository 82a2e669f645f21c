package pace

import "time"

// A Budget is shared by processes that call the same providers. It reserves n calls of a provider, evenly
// spread at a rate in calls per second, and returns how long the caller waits before the first of them.
type Budget func(provider string, rate float64, n int) (wait time.Duration, err error)

// Share makes rates that the user has set hold for all processes with the same budget together. Calls are
// reserved in batches: as many as wait, or a quarter of those made so far, but for half a second at most.
// A nil budget changes nothing.
func (s *Slots) Share(b Budget) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget = b
}

// reserved are calls of a shared budget that a provider may still make.
type reserved struct {
	calls  int
	until  time.Time // when they end, whether they were made or not
	made   int       // number of calls so far
	asking bool      // whether more are being reserved
}

// idle is the time after which calls that were reserved and not made are free again.
const idle = time.Second

// covers reports whether a budget allows the next call of a provider. If not, it reserves more, and the provider is
// served again afterwards. The caller has locked s.mu.
func (s *Slots) covers(g *gate) bool {
	r := &g.reserved
	if s.budget == nil || g.rate.most == 0 || r.calls > 0 && time.Now().Before(r.until) {
		return true
	}
	if r.asking {
		return false
	}
	r.asking = true
	n := max(len(g.waiting[Read])+len(g.waiting[Write]), r.made/4)
	n = max(1, min(n, int(g.rate.most/2)))
	provider, budget, rate := g.provider, s.budget, g.rate.most
	go func() {
		wait, _ := budget(provider, rate, n) // without the budget, each process keeps the rate for itself
		s.mu.Lock()
		defer s.mu.Unlock()
		now := time.Now()
		if first := now.Add(wait); first.After(g.rate.next) {
			g.rate.next = first
		}
		r.asking, r.calls = false, n
		r.until = now.Add(wait + time.Duration(float64(n)/rate*float64(time.Second)) + idle)
		s.serve(g)
	}()
	return false
}

// use counts a call.
func (r *reserved) use() {
	r.made++
	r.calls--
}
