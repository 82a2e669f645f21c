// Package plans defines the document that describes what an apply would do, and the rules that
// determine its content. The rules are pure functions.
//
// The engine creates and applies a [Plan], package ui renders it, and package planfile stores it.
// The values in a plan are decoded and marked: sensitive parts carry marks, write-only values are
// null, and ephemeral values never occur.
//
// Invariants: there is one change per object of an instance; Before and After are equal if the
// action is NoOp; a plan is not modified after the engine has returned it.
package plans
