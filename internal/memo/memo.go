// Package memo caches the results of functions by key. Concurrent calls with the same key share one
// execution.
//
// It is for data that a run requests from other services and that must not change during the run:
// version lists, packages, the services of a host.
//
// Invariants: a function runs once per key, whether or not it fails. Functions for different keys
// don't wait for each other.
package memo

import "sync"

// Map holds results by key. The zero value is empty. A Map must not be copied after first use.
type Map[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]func() (V, error)
}

// Do calls run and returns its result. If Do was called with the same key before, it returns the
// result of the earlier call and doesn't call run.
func (m *Map[K, V]) Do(key K, run func() (V, error)) (V, error) {
	m.mu.Lock()
	call, ok := m.calls[key]
	if !ok {
		if m.calls == nil {
			m.calls = make(map[K]func() (V, error))
		}
		call = sync.OnceValues(run)
		m.calls[key] = call
	}
	m.mu.Unlock()
	return call()
}
