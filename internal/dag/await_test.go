package dag

import (
	"context"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestAwait checks that a visit that awaits other vertices continues after they are finished, and
// that visits never wait for each other in a cycle. Everything else must be visited in the same way
// as without Await.
func TestAwait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomDAG(t)
		fails := rapid.SliceOfN(rapid.IntRange(0, 9), g.Len(), g.Len()).Draw(t, "fails")
		awaits := rapid.SliceOfN(rapid.IntRange(-g.Len(), g.Len()-1), g.Len(), g.Len()).Draw(t, "awaits")
		w := NewWalker(g)
		var mu sync.Mutex // guards the variables below
		visits := make([]int, g.Len())
		over := make([]bool, g.Len())
		order := g.Clone() // the graph plus an edge from each visit to the vertex that it awaits
		outcome := w.Walk(context.Background(), rapid.IntRange(1, 4).Draw(t, "workers"), func(id ID) bool {
			mu.Lock()
			defer mu.Unlock()
			if on := ID(awaits[id]); on >= 0 {
				order.Connect(id, on)
				mu.Unlock()
				got, ok := w.Await(id, on)
				mu.Lock()
				switch {
				case ok && got == Done && !over[on]:
					t.Errorf("%d went on before %d was visited", id, on)
				case !ok && order.Acyclic():
					t.Errorf("%d didn't wait for %d", id, on)
				}
				if !ok {
					order.Remove(id, func(to ID) bool { return to == on })
				}
			}
			visits[id]++
			over[id] = true
			return fails[id] != 0
		})
		if !order.Acyclic() {
			t.Error("visits waited for each other")
		}
		for id := range ID(g.Len()) {
			want := Done
			for _, need := range g.Needs(id) {
				if outcome[need] != Done {
					want = Skipped
				}
			}
			if want == Done && fails[id] == 0 {
				want = Failed
			}
			if outcome[id] != want || (visits[id] == 1) != (want != Skipped) {
				t.Errorf("vertex %d: outcome %d, want %d, %d visits", id, outcome[id], want, visits[id])
			}
		}
	})
}
