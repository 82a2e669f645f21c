// Package prototest calls a provider through the provider protocol, in the same process. It is for
// tests of the providers in this module. Like an engine, it plans and applies, but only one object
// at a time. Configurations and states are written as JSON.
//
// Invariants: it does not depend on particular providers. Errors of a provider are returned as Go
// errors.
package prototest
