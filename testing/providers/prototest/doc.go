// Package prototest speaks the provider protocol to a provider in the same
// process, for the tests of the providers in this module. It plans and applies
// one object at a time, the way an engine does, with configuration and state
// written as JSON.
//
// Invariants: it knows nothing about any one provider; a call that the provider
// answers with an error is returned as an error and changes nothing.
package prototest
