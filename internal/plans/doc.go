// Package plans is the document that says what applying a configuration would do, and the pure rules that decide it.
//
// The engine fills a [Plan]; ui renders it; planfile stores it; the engine applies it. Values are decoded, marked values: what is
// sensitive carries its mark, write-only values are null, ephemeral ones never appear.
//
// Invariants: one change per instance object; changes of action NoOp share Before and After; a plan is not changed once the engine
// has returned it.
package plans
