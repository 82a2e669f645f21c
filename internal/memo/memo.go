// Package memo remembers what functions gave, by a key: many goroutines may ask for the same thing, and it is done once.
//
// It is for what a run asks of others and what must not change while it runs: lists of versions, packages, a host's services.
//
// Invariants: a function runs once per key, whatever it gives, errors too; functions of different keys don't wait for each other.
package memo

import "sync"

// Map is what is known. The zero value knows nothing; a Map must not be copied after its first use.
type Map[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]func() (V, error)
}

// Do gives what run gave the first time that somebody asked for the key.
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
