// Package moves gives objects in a state new addresses.
//
// [Apply] carries out the moved blocks of a configuration and the moves that adding or removing
// count implies; [Validate], [ValidateRemoved] and [CheckInstances] check moved and removed blocks.
// [Rename] moves objects as `tofu state mv` does.
//
// An object is moved as a whole or not at all, and never to an address that has an object already.
// The cost is that of the state's objects plus the statements.
package moves
