package dag

import (
	"iter"
	"slices"
)

// ID identifies a vertex.
type ID int32

// Graph is a directed graph. Edges point from a vertex to its dependencies.
type Graph struct {
	needs [][]ID
	edges int // number of edges, including repeated ones
}

// Add adds a vertex and returns its ID.
func (g *Graph) Add() ID {
	g.needs = append(g.needs, nil)
	return ID(len(g.needs) - 1)
}

// Connect adds an edge from a vertex to a vertex that it depends on. Repeated edges are allowed. An
// edge from a vertex to itself is a cycle.
func (g *Graph) Connect(from, to ID) {
	needs := g.needs[from]
	if n := len(needs); n > 0 && needs[n-1] == to {
		return
	}
	g.needs[from] = append(needs, to)
	g.edges++
}

// Len returns the number of vertices. IDs range from 0 to Len-1.
func (g *Graph) Len() int { return len(g.needs) }

// Needs returns the dependencies of id. The caller must not change the result.
func (g *Graph) Needs(id ID) []ID { return g.needs[id] }

// Clone returns a copy of the graph.
func (g *Graph) Clone() *Graph {
	out := &Graph{needs: make([][]ID, len(g.needs)), edges: g.edges}
	for id, needs := range g.needs {
		out.needs[id] = slices.Clip(needs) // without spare capacity, so that appending to it copies the list
	}
	return out
}

// Disconnect removes all edges from id.
func (g *Graph) Disconnect(id ID) {
	g.edges -= len(g.needs[id])
	g.needs[id] = nil
}

// Remove removes the edges from id to the dependencies for which remove returns true.
func (g *Graph) Remove(id ID, remove func(ID) bool) {
	g.edges -= len(g.needs[id])
	g.needs[id] = slices.DeleteFunc(slices.Clone(g.needs[id]), remove) // a clone of the graph may share the list
	g.edges += len(g.needs[id])
}

// Dependents returns the dependents of each vertex.
func (g *Graph) Dependents() [][]ID {
	count := make([]int32, g.Len())
	for _, needs := range g.needs {
		for _, to := range needs {
			count[to]++
		}
	}
	all := make([]ID, g.edges)
	out := make([][]ID, g.Len())
	at := 0
	for id, n := range count {
		out[id] = all[at : at : at+int(n)]
		at += int(n)
	}
	for from, needs := range g.needs {
		for _, to := range needs {
			out[to] = append(out[to], ID(from))
		}
	}
	return out
}

// Order returns the vertices in topological order, dependencies first. It returns false if the
// graph has a cycle. The order then lacks the vertices on a cycle and their dependents.
func (g *Graph) Order() (order []ID, ok bool) {
	pending := make([]int32, g.Len())
	order = make([]ID, 0, g.Len())
	for id, needs := range g.needs {
		pending[id] = int32(len(needs))
		if len(needs) == 0 {
			order = append(order, ID(id))
		}
	}
	dependents := g.Dependents()
	for at := 0; at < len(order); at++ {
		for _, from := range dependents[order[at]] {
			pending[from]--
			if pending[from] == 0 {
				order = append(order, from)
			}
		}
	}
	return order, len(order) == g.Len()
}

// Reach reports, by ID, which vertices are among the given vertices or their direct or indirect
// dependencies.
func (g *Graph) Reach(from ...ID) []bool {
	return ReachIn(g.needs, from...)
}

// ReachThrough is like Reach, but follows an edge only if enter returns true for its dependency.
// The given vertices are always included.
func (g *Graph) ReachThrough(enter func(ID) bool, from ...ID) []bool {
	seen := make([]bool, g.Len())
	var todo []ID
	push := func(id ID) {
		seen[id] = true
		todo = append(todo, id)
	}
	for _, id := range from {
		push(id)
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, next := range g.needs[id] {
			if !seen[next] && enter(next) {
				push(next)
			}
		}
	}
	return seen
}

// ReachIn is like Reach, but follows the edges in an adjacency list, such as the result of
// Dependents.
func ReachIn(adjacent [][]ID, from ...ID) []bool {
	g := Graph{needs: adjacent}
	return g.ReachThrough(func(ID) bool { return true }, from...)
}

// Reachable returns an iterator over the given values and all values that can be reached from them
// by following next. Each value occurs once. It is for graphs that are not stored as a Graph, and
// for searches that end early.
func Reachable[T comparable](from []T, next func(T) []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		seen := make(map[T]bool, len(from))
		todo := slices.Clone(from)
		for len(todo) > 0 {
			v := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[v] {
				continue
			}
			seen[v] = true
			if !yield(v) {
				return
			}
			todo = append(todo, next(v)...)
		}
	}
}
