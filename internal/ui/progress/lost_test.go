package progress_test

import (
	"strings"
	"testing"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/progress"
	"tofu/internal/ui/termtext"
)

// TestLost checks that steps that don't begin because of a failure are not said to wait.
func TestLost(t *testing.T) {
	clock := &stoppedClock{}
	l := progress.New(termtext.Style{}, clock.now)
	l.Phase(progress.Applying, 6)
	lost, waits := 0, []string{"a.next", "a.both"}
	l.Event(engine.Ordered{
		Waiters: func(o engine.Object, _ plans.Action) (out []addrs.AbsInstance) {
			for _, name := range waits {
				out = append(out, object(name).Addr)
			}
			return out
		},
		Lost: func() int { return lost },
	})
	last := func() string {
		lines := l.Lines(200, 20)
		return strings.TrimSpace(lines[len(lines)-1])
	}
	expect := func(when, want string) {
		t.Helper()
		if got := last(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	l.Event(engine.ApplyStart{Object: object("a.slow"), Action: plans.Create})
	l.Event(engine.ApplyStart{Object: object("a.bad"), Action: plans.Create})
	clock.advance(time.Second)
	expect("both run", "a.next and 1 more wait for a.bad; 2 more wait")

	l.Event(engine.ApplyDone{Object: object("a.bad"), Action: plans.Create, Failed: true})
	lost, waits = 2, []string{"a.next"}
	err := tfdiags.Errorf("Bad", "Bad.")
	err.Address = "a.bad"
	l.Event(engine.Failure{Err: tfdiags.Diagnostics{err}.Err()})
	expect("one failed", "a.next waits for a.slow; 1 more waits")

	err.Address = "a.next" // its condition fails, so its operation never begins
	waits = nil
	l.Event(engine.Failure{Err: tfdiags.Diagnostics{err}.Err()})
	expect("a condition failed", "1 more waits for these")
	lost = 3
	expect("nothing waits", "1s  a.slow: creating")
}
