package pace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Wait waits until the rate of a provider allows a repeated call, whose caller has kept its slot.
func (s *Slots) Wait(ctx context.Context, provider string) error {
	for {
		s.mu.Lock()
		g := s.gate(provider)
		wait := g.rate.wait(time.Now())
		if wait <= 0 {
			g.rate.take(time.Now())
			g.repeated++
		}
		s.mu.Unlock()
		if wait <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// GiveUp records that a provider has refused a call for good. Until it accepts a call again, refused
// calls need not be repeated: a provider that refuses everything must not hold up a run for hours.
func (s *Slots) GiveUp(provider string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate(provider).hopeless = true
}

// Hopeless reports whether a provider refuses everything.
func (s *Slots) Hopeless(provider string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gate(provider).hopeless
}

// Report describes what the limits have done, a line for each provider, sorted. Providers that were
// called one at a time and never refused are left out.
func (s *Slots) Report() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, g := range s.order {
		var about []string
		if g.throttled > 0 {
			about = append(about, fmt.Sprintf("%d refused because of too many", g.throttled))
		}
		if g.repeated > 0 {
			about = append(about, fmt.Sprintf("%d repeated", g.repeated))
		}
		if g.again > 0 {
			about = append(about, fmt.Sprintf("%d asked again because the answer was late", g.again))
		}
		if g.lowest > 0 {
			about = append(about, fmt.Sprintf("limit lowered to %d, now %d", g.lowest, g.limit))
		}
		if g.rate.now > 0 {
			about = append(about, fmt.Sprintf("now at most %.3g per second", g.rate.now))
		}
		if g.most > 1 || len(about) > 0 {
			about = append([]string{fmt.Sprintf("at most %d at a time", g.most)}, about...)
			lines = append(lines, g.provider+": "+strings.Join(about, ", "))
		}
	}
	slices.Sort(lines)
	return lines
}
