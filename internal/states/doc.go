// Package states contains the state: a document that records which real objects belong to which
// resource instances.
//
// A [State] maps resources to their instances. It also holds the root module's output values and
// the results of checks. Package statefile reads and writes state files; package statemgr handles
// persistence, serials and locks.
//
// Invariants: an [Object] is immutable once it is in a state. States share their objects, so
// copying a state copies only its maps. Output values of child modules, local values and ephemeral
// objects are never stored. A resource without instances may exist during an operation;
// [State.Prune] removes it. A State is not safe for concurrent writes: the engine guards the state
// that it changes.
package states
