package dag

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// randomDAG returns a graph with edges only from higher to lower vertices.
func randomDAG(t *rapid.T) *Graph {
	g := &Graph{}
	n := rapid.IntRange(1, 40).Draw(t, "vertices")
	for range n {
		g.Add()
	}
	for range rapid.IntRange(0, 3*n).Draw(t, "edges") {
		from := rapid.IntRange(0, n-1).Draw(t, "from")
		if from > 0 {
			g.Connect(ID(from), ID(rapid.IntRange(0, from-1).Draw(t, "to")))
		}
	}
	return g
}

func TestWalkRespectsEveryEdge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomDAG(t)
		fails := rapid.SliceOfN(rapid.IntRange(0, 9), g.Len(), g.Len()).Draw(t, "fails")
		workers := rapid.IntRange(1, 8).Draw(t, "workers")

		var mu sync.Mutex
		visits := make([]int, g.Len())
		ended := make([]bool, g.Len())
		var running, most atomic.Int32
		outcome := NewWalker(g).Walk(context.Background(), workers, func(id ID) bool {
			now := running.Add(1)
			defer running.Add(-1)
			mu.Lock()
			defer mu.Unlock()
			most.Store(max(most.Load(), now))
			visits[id]++
			for _, need := range g.Needs(id) {
				if !ended[need] {
					t.Errorf("%d started before %d ended", id, need)
				}
			}
			ended[id] = true
			return fails[id] != 0
		})

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
			if outcome[id] != want {
				t.Fatalf("vertex %d: outcome %d, want %d", id, outcome[id], want)
			}
			if (visits[id] == 1) != (want != Skipped) {
				t.Fatalf("vertex %d was visited %d times", id, visits[id])
			}
		}
		if int(most.Load()) > workers {
			t.Fatalf("%d concurrent visits with %d workers", most.Load(), workers)
		}
	})
}

// TestExtend checks that added vertices are visited like those of the graph, each after what it
// waits for, and that the last vertex of each extension is visited whatever happens to the others.
func TestExtend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomDAG(t)
		n := g.Len()
		adds := rapid.SliceOfN(rapid.IntRange(-3, 4), n, n).Draw(t, "adds") // vertices that each visit adds; none below 1
		seed := rapid.SliceOfN(rapid.IntRange(0, 1000), 64, 64).Draw(t, "seed")
		random := func(id ID, i, below int) int { return seed[(int(id)*7+i)%64] * 31 % below }
		w := NewWalker(g)
		var mu sync.Mutex // guards the variables below
		succeeds, always := map[ID]bool{}, map[ID]bool{}
		visits := map[ID]int{}
		needs := map[ID][]ID{}
		for id := range ID(n) {
			needs[id] = slices.Clone(g.Needs(id))
			succeeds[id] = random(id, 1, 10) > 0
		}
		over := map[ID]bool{}
		visit := func(id ID) bool {
			mu.Lock()
			defer mu.Unlock()
			visits[id]++
			for _, need := range needs[id] {
				if !over[need] && !always[id] {
					t.Errorf("%d started before %d ended", id, need)
				}
			}
			over[id] = true
			return succeeds[id]
		}
		extend := func(by ID, k int) {
			var first ID
			var list []func() bool
			for i := range k {
				list = append(list, func() bool { return visit(first + ID(i)) })
			}
			end := func(ok bool) bool {
				for i := range k {
					if o, finished := w.Outcome(first + ID(i)); !finished || ok && o != Done {
						t.Errorf("the last vertex was visited too early, or wasn't told of a failure")
					}
				}
				return visit(first + ID(k))
			}
			w.Extend(list, end, func(id ID, wait func(id, on ID)) {
				first = id
				mu.Lock()
				defer mu.Unlock()
				for i := range k + 1 {
					new := id + ID(i)
					succeeds[new] = i == k || random(new, 2, 6) > 0
					for range random(new, 3, 3) {
						on := ID(random(new, 4, int(new)))
						if int(on) < n && w.pending[on] != ended { // it could wait for the new one
							continue
						}
						wait(new, on)
						needs[new] = append(needs[new], on)
					}
				}
				always[id+ID(k)] = true
				for i := range k {
					needs[id+ID(k)] = append(needs[id+ID(k)], id+ID(i))
				}
				for from, list := range g.needs { // one dependent of the visited vertex waits for a new vertex
					if slices.Contains(list, by) {
						wait(ID(from), id)
						needs[ID(from)] = append(needs[ID(from)], id)
						break
					}
				}
			})
		}
		outcome := w.Walk(context.Background(), rapid.IntRange(1, 8).Draw(t, "workers"), func(id ID) bool {
			if adds[id] >= 0 {
				extend(id, adds[id])
			}
			return visit(id)
		})
		if w.Graph().Len() != len(outcome) {
			t.Fatalf("the graph has %d vertices, and %d have outcomes", w.Graph().Len(), len(outcome))
		}
		for i, got := range outcome {
			id, want := ID(i), Done
			for _, need := range w.Graph().Needs(id) {
				if outcome[need] != Done && !always[id] {
					want = Skipped
				}
			}
			if want == Done && !succeeds[id] {
				want = Failed
			}
			if got != want || (visits[id] == 1) != (want != Skipped) {
				t.Errorf("vertex %d: outcome %d, want %d, %d visits", id, got, want, visits[id])
			}
		}
	})
}

func TestTolerates(t *testing.T) {
	// 2 tolerates a failure of 0 but not of 1; 3 tolerates nothing.
	for failing, want := range map[ID][]Outcome{
		0: {Failed, Done, Done, Skipped},
		1: {Done, Failed, Skipped, Skipped},
	} {
		g := &Graph{}
		for range 4 {
			g.Add()
		}
		g.Connect(2, 0)
		g.Connect(2, 1)
		g.Connect(3, 0)
		g.Connect(3, 1)
		w := NewWalker(g)
		w.Tolerates = func(id, dependency ID) bool { return id == 2 && dependency == 0 }
		if got := w.Walk(t.Context(), 2, func(id ID) bool { return id != failing }); !slices.Equal(got, want) {
			t.Errorf("%d fails: got %v, want %v", failing, got, want)
		}
	}
}

func TestWalkStopsWithContext(t *testing.T) {
	g := &Graph{}
	a, b, c := g.Add(), g.Add(), g.Add()
	g.Connect(b, a)
	g.Connect(c, b)
	ctx, cancel := context.WithCancel(context.Background())
	outcome := NewWalker(g).Walk(ctx, 2, func(id ID) bool {
		if id == b {
			cancel()
		}
		return true
	})
	if outcome[a] != Done || outcome[b] != Done {
		t.Errorf("a started visit must be finished: %v", outcome)
	}
	if outcome[c] != Skipped {
		t.Errorf("a visit started after the context ended: %v", outcome)
	}
}

func TestOrderAndReduction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomDAG(t)
		order, ok := g.Order()
		if !ok || len(order) != g.Len() {
			t.Fatal("Order failed for an acyclic graph")
		}
		place := make([]int, g.Len())
		for i, id := range order {
			place[id] = i
		}
		r := g.TransitiveReduction()
		for id := range ID(g.Len()) {
			for _, need := range g.Needs(id) {
				if place[need] >= place[id] {
					t.Fatalf("%d is ordered before its dependency %d", id, need)
				}
			}
			if !slices.Equal(g.Reach(id), r.Reach(id)) {
				t.Fatalf("the reduction changed the reachable vertices of %d", id)
			}
			for _, need := range r.Needs(id) {
				others := slices.DeleteFunc(slices.Clone(r.Needs(id)), func(o ID) bool { return o == need })
				if r.Reach(others...)[need] {
					t.Fatalf("edge %d-%d is redundant", id, need)
				}
			}
		}
		if len(g.Cycles()) != 0 {
			t.Fatal("cycle in an acyclic graph")
		}
	})
}

// randomGraph returns a graph that may have cycles.
func randomGraph(t *rapid.T) *Graph {
	g := &Graph{}
	n := rapid.IntRange(1, 25).Draw(t, "vertices")
	for range n {
		g.Add()
	}
	for range rapid.IntRange(0, 2*n).Draw(t, "edges") {
		g.Connect(ID(rapid.IntRange(0, n-1).Draw(t, "from")), ID(rapid.IntRange(0, n-1).Draw(t, "to")))
	}
	return g
}

func TestCyclesAreClosedPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(t)
		cycles := g.Cycles()
		for _, way := range cycles {
			for i, id := range way {
				if !slices.Contains(g.needs[id], way[(i+1)%len(way)]) {
					t.Fatalf("%v is not a closed path", way)
				}
			}
		}
		if _, ok := g.Order(); ok == (len(cycles) > 0) {
			t.Fatalf("order %v, cycles %v", ok, cycles)
		}
	})
}

func TestCyclic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(t)
		var on []ID // vertices that depend on themselves
		for id := range ID(g.Len()) {
			for _, need := range g.Needs(id) {
				if g.Reach(need)[id] {
					on = append(on, id)
					break
				}
			}
		}
		_, ordered := g.Order()
		if acyclic := len(on) == 0; g.Acyclic() != acyclic || ordered != acyclic {
			t.Fatalf("Acyclic and Order don't report %v", acyclic)
		}
		closing := map[ID][]int{}
		for id, i := range Closing(g.Len(), g.need) {
			if to := g.Needs(id)[i]; !g.Reach(to)[id] {
				t.Fatalf("the dependency of %d on %d closes no cycle", id, to)
			}
			closing[id] = append(closing[id], i)
		}
		open := new(Graph)
		for range g.Len() {
			open.Add()
		}
		for id := range ID(g.Len()) {
			for i, to := range g.Needs(id) {
				if !slices.Contains(closing[id], i) {
					open.Connect(id, to)
				}
			}
		}
		if !open.Acyclic() {
			t.Fatalf("there is still a cycle without %v", closing)
		}
		below, above := g.Reach(on...), ReachIn(g.Dependents(), on...)
		for id, cyclic := range g.Cyclic() {
			if want := below[id] && above[id]; cyclic != want {
				t.Fatalf("vertex %d: %v, want %v", id, cyclic, want)
			}
		}
	})
}

// TestLowestFirst checks the order of visits by one worker. With LowestFirst, the lowest vertex
// that is ready comes first. Without it, the vertex that became ready last comes first.
func TestLowestFirst(t *testing.T) {
	var g Graph
	for range 8 {
		g.Add()
	}
	for _, edge := range [][2]ID{{1, 4}, {2, 1}, {3, 1}, {6, 0}} {
		g.Connect(edge[0], edge[1])
	}
	for _, c := range []struct {
		lowest bool
		want   []ID
	}{
		{true, []ID{0, 4, 1, 2, 3, 5, 6, 7}},
		{false, []ID{0, 6, 4, 1, 3, 2, 5, 7}},
	} {
		var visited []ID
		w := NewWalker(&g)
		w.LowestFirst = c.lowest
		w.Walk(context.Background(), 1, func(id ID) bool {
			visited = append(visited, id)
			return true
		})
		if !slices.Equal(visited, c.want) {
			t.Errorf("lowest first %v: visited %v, want %v", c.lowest, visited, c.want)
		}
	}
}

func benchmarkWalk(b *testing.B, build func(n int) *Graph, n int) {
	g := build(n)
	b.ReportAllocs()
	for b.Loop() {
		NewWalker(g).Walk(context.Background(), 10, func(ID) bool { return true })
	}
}

func BenchmarkWalk(b *testing.B) {
	shapes := map[string]func(int) *Graph{
		"wide": func(n int) *Graph {
			g := &Graph{}
			root := g.Add()
			for range n {
				g.Connect(root, g.Add())
			}
			return g
		},
		"chain": func(n int) *Graph {
			g := &Graph{}
			last := g.Add()
			for range n {
				id := g.Add()
				g.Connect(id, last)
				last = id
			}
			return g
		},
	}
	for name, build := range shapes {
		b.Run(name+"/10k", func(b *testing.B) { benchmarkWalk(b, build, 10_000) })
	}
}

// TestReachable checks that each value is visited only once, even on cycles, and that a search can
// be stopped early.
func TestReachable(t *testing.T) {
	next := map[string][]string{"a": {"b", "c"}, "b": {"d", "a"}, "c": {"d"}, "e": {"a"}}
	follow := func(v string) []string { return next[v] }
	got := slices.Sorted(Reachable([]string{"a", "b"}, follow))
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for v := range Reachable([]string{"a"}, func(string) []string { t.Error("went on"); return nil }) {
		if v == "a" {
			break
		}
	}
}

// TestReachThrough checks that a search reaches only vertices that it may enter.
func TestReachThrough(t *testing.T) {
	g := &Graph{}
	for range 5 {
		g.Add()
	}
	g.Connect(0, 1)
	g.Connect(1, 2)
	g.Connect(0, 3)
	g.Connect(3, 4)
	got := g.ReachThrough(func(id ID) bool { return id != 3 }, 0)
	if want := []bool{true, true, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
