// Package ui renders everything that users and programs read: plans, states, configurations,
// diagnostics and events.
//
// Commands pass documents and events to a [Printer]. There are two, one for humans and one that
// prints a JSON object per line for programs; [Tee] combines them. Whole JSON documents (`show
// -json` and others) are written by the Write functions, which stream: they hold one object in
// memory at a time.
//
// Invariants: only this package knows about the two forms. Values that are marked sensitive, or
// that the schema declares sensitive, are never printed for humans, and ephemeral values are never
// printed (JSON documents contain sensitive values, and a map of what is sensitive: that is their
// contract). Rendering changes nothing, and takes time and memory linear in the size of the output.
// The package performs and decides no operation.
package ui
