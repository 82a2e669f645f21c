// Package synth is a provider for measurements. It has a large schema, and its resources do no
// work. Environment variables set the size:
//
//	SYNTH_TYPES=1500    resource types synth_t0 … synth_t1499 (the default)
//	SYNTH_ATTRIBUTES=20 additional optional attributes x0 … x19 of each (default: none)
//
// It announces that its schema call is optional, so that a client with a cached schema need not
// call it.
//
// Invariants: it stores nothing. All objects in the state exist.
package synth
