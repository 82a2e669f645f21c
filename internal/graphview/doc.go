// Package graphview holds the graph of a configuration or a plan as people look at it: resources,
// values and modules, with what each refers to and where. It narrows a graph to what is near one
// node or to modules, and writes it as DOT, Mermaid and JSON.
//
// A node is a block of the configuration in one module of the module tree, or a resource that only
// the state has. The instances of a resource are a list in its node: edges between all pairs of
// instances would cost the product of their numbers. In the graph of a plan, a resource has several
// nodes if its instances refer to single instances, or are referred to one by one (instances.go).
// An edge points from a node to one that it refers to, and so waits for.
//
// Invariants: nodes and edges are sorted, so the same configuration always has the same text. A
// graph has no edge twice and none from a node to itself. Everything costs nodes plus edges.
package graphview
