// Package adopt prepares the import of existing objects that no state has yet, as `tofu adopt` does.
//
// [Managed] knows which objects the states have, [Arrange] finds addresses for the others, and [Imports]
// writes the import blocks. The resource blocks themselves come from a plan of these imports (see
// package genconfig), and [Files] or [Modules] group them. [Settle] finds the objects of interrupted
// creations. The package performs no I/O.
package adopt
