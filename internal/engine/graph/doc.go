// Package graph builds the graph that the engine walks.
//
// [Build] makes the [Graph] of an [Operation]: the tree of modules with their values, resources and provider
// configurations, and a [Node] for each unit of work, connected to the nodes that it waits for. Transformers
// (build.go) add nodes and edges, one subject each. [Draw] returns the graph in the form that `tofu graph` prints.
//
// Invariants: a graph is finished when Build returns, and neither walking nor drawing changes it; building costs
// vertices plus edges; no edge depends on the number of pairs of instances; nothing is evaluated, and providers are
// asked for schemas only.
package graph
