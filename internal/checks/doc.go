// Package checks records the results of conditions: preconditions and postconditions of resources
// and outputs, validation rules of variables, and assertions of check blocks.
//
// Plans and the state store the results. An undecided condition is Unknown, never Pass. The status
// of an object is the worst status of its conditions.
package checks
