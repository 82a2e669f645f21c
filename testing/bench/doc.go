// Command bench measures how the cost of whole commands grows with the size of
// a configuration. It is for whoever changes the engine: it writes synthetic
// root modules in several shapes and sizes, runs the phases of a life on them
// (validate, plan, apply, …) and prints wall time, CPU time, peak memory and
// the exponent with which CPU time grew from one size to the next.
//
//	go run ./testing/bench -bin bin/tofu -shapes wide,layers -sizes 1000,8000
//
// With -ref a second program runs beside the first. With -gate the exit status
// says whether an exponent was larger than the gate: growth holds on a noisy
// machine where absolute figures do not. The program then collects garbage from
// the start (GOGC=100), in small sizes as in large ones.
//
// Invariants: it knows a program only by its command line and imports nothing
// of the engine; the CPU time of starting the program is measured and taken off
// before growth is computed; every run has a folder and a home of its own.
package main
