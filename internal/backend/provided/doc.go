// Package provided keeps states in a store that a provider serves. The ID of a state is the name of
// its workspace.
//
// The calls have no conditional write and don't say who holds a lock. So [Store.Swap] reads the state
// before it writes, which detects other writers after the store has lost a lock, and the holder is
// taken from the message of the provider, if it has the form that terraform-plugin-framework prints.
//
// A state exists in the store as soon as a run has changed it. Terraform's init writes an empty one.
package provided
