// Package engine plans and applies: it builds a graph from configuration, state and planned changes, and walks it.
//
// The surface is a handful of functions from values to values: [Validate], [Plan], [Apply], [Eval], and [Graph], which draws
// what the others walk. They are used by the commands and by `tofu test`. All of them say what is asked for (operation.go), have
// the transformers (build.go) build a graph of one kind of node (node.go) over the places of the module tree (tree.go), and walk
// it (walk.go). What the phases of the work differ in is a table (phase.go).
//
// Invariants: the engine performs no input or output of its own: providers, provisioners and observers come in through [Env];
// inputs are never changed; a phase is compared nowhere but in phase.go; the work per instance and per reference is constant,
// but for finding a key among the sorted ones; whatever a provider returned is reported to the observer before anything that depends
// on it starts.
package engine
