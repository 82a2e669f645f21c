// Package graph builds the graph that the engine walks.
//
// [Build] returns the [Graph] of an [Operation]: the tree of modules with their values, resources
// and provider configurations, and a node for each unit of work, connected to the nodes that it
// waits for. Transformers (build.go) add the nodes and edges; each transformer has one task. Which
// places a place reads is known to package reads alone. [Draw] returns the graph in the form that
// `tofu graph` prints.
//
// Invariants: a graph is complete when Build returns, and no walk changes it. The cost of building
// is linear in the number of vertices and edges. The number of edges never grows with the number of
// pairs of instances. Building fetches only schemas from providers. It evaluates no expressions
// itself; if it needs the keys of instances, it calls [Operation.Early].
package graph
