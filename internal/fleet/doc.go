// Package fleet plans and applies many root modules in one run.
//
// [Run.Plan] plans the selected root modules of an estate in the order of their edges. A root
// module that reads the state of another one gets the outputs that are planned for that state:
// known ones, and unknown ones with what is known of them. All plans go to an [Archive], each as an
// ordinary plan file, with the planned outputs that it was made from. [Run.Apply] applies the plans
// of an archive, one root module after those that it reads, and records in a [Record] what is done,
// so that another run can continue.
//
// Invariants: a plan has no value that is made up; a root module starts to change only if what it
// reads is as its plan says; a failure stops only root modules that depend on the failed one; and
// after a root module is finished, the run holds its outputs, but neither its state nor its plan.
package fleet
