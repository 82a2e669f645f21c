// Package graphview contains the graph of a configuration or a plan in a form that people can read:
// resources, values and modules, with the objects that each refers to, and where. It can narrow a
// graph to the surroundings of a node or to modules, and writes it as DOT, Mermaid and JSON.
//
// A node is a block of the configuration in one module of the module tree, or a resource that
// exists only in the state. The instances of a resource are a list in its node, because the number
// of edges between all pairs of instances would be the product of their numbers. In the graph of a
// plan, a resource has several nodes if its instances refer to single instances, or are referred to
// one by one (instances.go). A value has several nodes if single instances refer to each other
// through it (module_instances.go). An edge points from a node to a node that it refers to and
// therefore waits for.
//
// Invariants: nodes and edges are sorted, so the documents about the same configuration are always
// equal. A graph has no duplicate edges and no edge from a node to itself. The cost of everything
// is linear in the number of nodes and edges.
package graphview
