// Command bench measures how the cost of whole commands grows with the size of a configuration. It
// generates root modules in several shapes and sizes, runs a sequence of commands on them
// (validate, plan, apply, …) and prints wall time, CPU time, peak memory and the exponent with
// which CPU time grows from one size to the next.
//
//	go run ./testing/bench -bin bin/tofu -shapes wide,layers -sizes 1000,8000
//
// With -ref it measures a second program too. With -gate it fails if an exponent is larger than the
// gate: exponents are reliable on a busy machine, absolute figures are not. In this mode the
// program collects garbage from the start (GOGC=100), at small sizes as at large ones.
//
// With -postgres it starts a private PostgreSQL server, and measures commands on a state in a local
// file and in the backend postgres, what they write, and applies at the same time. With -ref it
// measures OpenTofu's backend pg on the same server too, with the same state.
//
// Invariants: it uses a program only by its command line and imports no packages of the engine. The
// CPU time for starting the program is measured and subtracted before growth is computed. Every run
// has its own working and home directories.
package main
