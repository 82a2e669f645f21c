// Package prototest calls a provider in the same process by the provider protocol, for tests of the
// providers in this module. It plans and applies one object at a time, as an engine does.
// Configuration and state are written as JSON.
//
// Invariants: it is independent of particular providers. Provider errors are returned as errors and
// change nothing.
package prototest
