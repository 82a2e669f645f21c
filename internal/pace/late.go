package pace

import "time"

const (
	late    = 3                      // an answer is late if it takes this many times as long as others
	soonest = 300 * time.Millisecond // but not before this time
	rarely  = 20                     // at most one of so many calls is made again
)

// A Wait says when the answer to a call is late.
type Wait struct {
	For   time.Duration // after which the answer is late, if others came meanwhile
	slots *Slots
	gate  *gate
	past  int // number of accepted calls that shows that others came meanwhile
}

// Usual returns when the answer to a read of a type that begins now is late. For is 0 as long as that is not
// known, and if the provider has refused calls.
func (s *Slots) Usual(provider, typ string) Wait {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.gate(provider)
	usual := g.usual[typ]
	if usual == nil || !usual.full() || g.careful {
		return Wait{}
	}
	return Wait{max(soonest, time.Duration(late*usual.median()*float64(time.Second))), s, g, g.total + g.running/2}
}

// Overtaken reports whether the provider has accepted half as many calls as were running when the call began,
// so that it isn't the provider that is slow, but this call. Then it may be made again, in a slot of its own.
func (w Wait) Overtaken() bool {
	w.slots.mu.Lock()
	defer w.slots.mu.Unlock()
	g := w.gate
	if g.careful || g.total < w.past || g.total < rarely*(g.again+1) {
		return false
	}
	g.again++
	return true
}
