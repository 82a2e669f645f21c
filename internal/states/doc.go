// Package states is the document that records which real objects belong to which resource instances.
//
// A [State] maps resources to their instances, and holds the root module's output values and the results of checks. State files
// are read and written by statefile; durability, serials and locks are statemgr's.
//
// Invariants: an [Object] is immutable once it is in a state, so states share objects and copying a state costs its maps, not
// its contents; child module outputs, locals and ephemeral objects are never here; a resource without instances may exist while
// an operation runs and is dropped by Prune; a State is not safe for concurrent writing: the engine guards the one it works on.
package states
