// Package ui renders everything that users and programs read: plans, states, configurations,
// diagnostics and events.
//
// Commands pass documents and events to a [Printer]. There are two printers: one for humans,
// and one that prints one JSON object per line for programs. [Tee] combines them. The Write
// functions write whole JSON documents, such as that of `show -json`. They hold only one object
// in memory at a time.
//
// Invariants: only this package knows about the two output forms. The human form shows
// sensitive values, whether by a mark or in the schema, only with [Options.ShowSensitive], and
// neither form shows ephemeral values. JSON documents contain sensitive values, together with a map of the
// sensitive parts, because programs rely on them. Rendering changes nothing, and takes time and
// memory linear in the size of the output. The package makes no decisions about operations and
// performs none.
package ui
