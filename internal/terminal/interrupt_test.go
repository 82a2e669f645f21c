package terminal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestContexts checks which interrupt cancels which context, and that both contexts have the
// caller's values.
func TestContexts(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		i := NewInterrupts()
		first, cancel := i.Context(t.Context())
		defer cancel()
		first = context.WithValue(first, key{}, "v")
		second := UntilAbort(first)
		for interrupts, want := range [][2]bool{{false, false}, {true, false}, {true, true}} {
			switch interrupts {
			case 1:
				i.Add()
			case 2:
				i.Fail(errors.New("an error ends nothing more"))
				synctest.Wait()
				if second.Err() != nil {
					t.Error("an error after an interrupt counts as the second one")
				}
				i.Add()
			}
			synctest.Wait()
			if got := [2]bool{first.Err() != nil, second.Err() != nil}; got != want {
				t.Errorf("after %d interrupts: %v, want %v", interrupts, got, want)
			}
		}
		if second.Value(key{}) != "v" {
			t.Error("the value is lost")
		}
	})
}

// TestFail checks that an error stops the same work as the first interrupt, is reported, and is
// not counted as an interrupt.
func TestFail(t *testing.T) {
	i := NewInterrupts()
	var counts []int
	failures := make(chan error, 1)
	i.OnInterrupt(func(count int) { counts = append(counts, count) }, func(err error) { failures <- err })
	cause := errors.New("lost")
	i.Fail(cause)
	if !i.Stopped() || len(counts) > 0 {
		t.Errorf("stopped: %t, interrupts: %v", i.Stopped(), counts)
	}
	if got := <-failures; got != cause {
		t.Errorf("failed with %v", got)
	}
	if n := i.Add(); n != 1 || len(counts) != 1 {
		t.Errorf("the interrupt after an error has the number %d", n)
	}
}

// TestRepeatedSignals checks that signals that arrive within a second count as one interrupt.
func TestRepeatedSignals(t *testing.T) {
	i, start := NewInterrupts(), time.Now()
	for _, at := range []struct {
		after time.Duration
		want  int
	}{
		{0, 1}, {0, 0}, {5 * time.Millisecond, 0}, {999 * time.Millisecond, 0}, {time.Second, 2},
		{1500 * time.Millisecond, 0}, {1999 * time.Millisecond, 0}, {2500 * time.Millisecond, 3},
	} {
		if got := i.signal(start.Add(at.after)); got != at.want {
			t.Errorf("after %s: %d, want %d", at.after, got, at.want)
		}
	}
}
