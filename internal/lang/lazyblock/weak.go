package lazyblock

import (
	"sync/atomic"
	"weak"
)

// Weak is a value that can be made again. It is kept until the next garbage collection, and longer
// while something uses it. The zero value holds nothing yet.
type Weak[T any] struct {
	last atomic.Pointer[weak.Pointer[T]]
}

// Get returns the value. It calls make if the value is not kept; concurrent calls may both do so.
func (w *Weak[T]) Get(make func() *T) *T {
	if last := w.last.Load(); last != nil {
		if kept := last.Value(); kept != nil {
			return kept
		}
	}
	made := make()
	last := weak.Make(made)
	w.last.Store(&last)
	return made
}
