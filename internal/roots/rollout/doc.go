// Package rollout plans and applies the root modules of an estate in one process.
//
// [Rollout.Plan] plans each root module after those that it needs, and shows it their planned
// outputs in place of those in their states: known values, and unknown ones where changes decide
// them. [Rollout.Apply] applies the plans in the same order, with the real outputs; a destruction
// goes in reverse. A failure stops only root modules that need the failed one.
//
// Invariants: no value is made up; a plan that was approved is applied as it is, or not at all; the
// state of a root module is locked only during its turn; the output of a root module stays
// together, and root modules are reported in the order of their names.
package rollout
