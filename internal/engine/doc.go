// Package engine plans and applies: it builds a graph from configuration, state and planned changes, and walks it.
//
// The surface is a handful of functions from values to values: [Validate], [Plan], [Apply], [Eval], and [Graph], which draws
// what the others walk. They are used by the commands and by `tofu test`. All of them build one kind of graph (build.go) out of
// one kind of node (node.go), with the transformers that the phase asks for (phase.go), and run it on dag's bounded walk.
//
// Invariants: the engine performs no input or output of its own: providers, provisioners and observers come in through [Env];
// inputs are never changed; a phase is compared nowhere but in phase.go; the work per instance and per reference is constant;
// whatever a provider returned is reported to the observer before anything that depends on it starts.
package engine
