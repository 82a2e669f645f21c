package terminal

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestContexts checks which interrupt ends which context, and that both have the caller's values.
func TestContexts(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		i := NewInterrupts()
		first, cancel := i.Context(t.Context())
		defer cancel()
		first = context.WithValue(first, key{}, "v")
		second := UntilAbort(first)
		for interrupts, want := range [][2]bool{{false, false}, {true, false}, {true, true}} {
			if interrupts > 0 {
				i.Add()
				synctest.Wait()
			}
			if got := [2]bool{first.Err() != nil, second.Err() != nil}; got != want {
				t.Errorf("after %d interrupts: %v, want %v", interrupts, got, want)
			}
		}
		if second.Value(key{}) != "v" {
			t.Error("the value is lost")
		}
	})
}
