// Package synth is a provider for measurements: a large schema behind resources
// that do no work. The environment says how large:
//
//	SYNTH_TYPES=1500    resource types synth_t0 … synth_t1499; the default is 1500
//	SYNTH_ATTRIBUTES=20 further optional attributes x0 … x19 of each; the default is none
//
// It announces that its schema call is optional, so that a client which has the
// schema already need not ask again.
//
// Invariants: nothing is kept anywhere; what is in the state exists.
package synth
