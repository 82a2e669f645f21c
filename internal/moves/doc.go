// Package moves moves objects in a state to new addresses.
//
// [Apply] carries out the moved blocks of a configuration and the moves that are implied when count
// is added or removed. [Validate], [ValidateRemoved] and [CheckInstances] check moved and removed
// blocks. [Rename] moves objects as `tofu state mv` does.
//
// An object is moved as a whole or not at all, and never to an address that already has an object.
// The cost is linear in the number of objects in the state and of statements.
package moves
