// Package checks records how the conditions of a configuration came out: preconditions and postconditions of resources and
// outputs, validation rules of variables, and the assertions of check blocks.
//
// Results are part of plans and of the state. Invariants: a condition that could not be decided is Unknown, never Pass; an
// object's status is the worst of its conditions'.
package checks
