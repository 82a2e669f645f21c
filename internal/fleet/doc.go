// Package fleet plans and applies many root modules in one run.
//
// [Run.Plan] plans the selected root modules of an estate in dependency order. If a root module
// reads the state of another one, it gets the outputs that are planned for that state. Some of
// these outputs may be unknown or only partly known. All plans are written to an [Archive]. Each
// plan is an ordinary plan file, stored with the planned outputs that it was created from.
// [Run.Apply] applies the plans in an archive, each root module after the root modules that it
// reads. It records its progress in a [Record], which lets another run continue.
//
// Invariants: plans contain no made-up values; a root module is changed only if its inputs match
// its plan; a failure stops only the root modules that depend on the failed one; and after a root
// module is finished, the run keeps its outputs, but neither its state nor its plan.
package fleet
