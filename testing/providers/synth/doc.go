// Package synth is a provider for measurements. It has a large schema, and its resources do no
// work. Environment variables set the size of the schema:
//
//	SYNTH_TYPES=1500    resource types synth_t0 … synth_t1499 (the default)
//	SYNTH_ATTRIBUTES=20 additional optional attributes x0 … x19 of each (default: none)
//
// It declares that the schema call is optional, so a client that has cached the schema need not
// make this call.
//
// Invariants: it stores nothing. Every object in the state exists.
package synth
