package engine

import (
	"testing"

	"tofu/internal/addrs"
)

// TestKeySet checks that adding a key twice is detected, in small and in large sets.
func TestKeySet(t *testing.T) {
	var set keySet
	for n := range 100 {
		key := addrs.IntKey(n)
		if set.has(key) || !set.add(key) {
			t.Fatalf("%s is in the set before it was added", key)
		}
		for known := range n + 1 {
			if set.add(addrs.IntKey(known)) || !set.has(addrs.IntKey(known)) {
				t.Fatalf("%d is missing after %d keys", known, n+1)
			}
		}
	}
}
