// Command bench measures how the cost of whole commands grows with the size of a configuration. It
// generates root modules in several shapes and sizes, and runs a sequence of commands on them
// (validate, plan, apply, …). For each command it prints wall time, CPU time and peak memory. It
// also prints the exponent of growth: e in CPU time ~ size^e.
//
//	go run ./testing/bench -bin bin/tofu -shapes wide,layers -sizes 1000,8000
//
// With -ref it also measures a second program. With -gate it fails if an exponent is larger than
// the value of the option. Exponents are reliable even on a busy machine, unlike absolute figures.
// With -gate, the measured program runs with GOGC=100, so it collects garbage even if its heap is
// small.
//
// With -postgres it starts a private PostgreSQL server. It measures the time of commands on a state
// in a local file and in the backend postgres, the amount that they write, and concurrent applies.
// With -ref it also measures OpenTofu's backend pg on the same server with the same state.
//
// With -adopt it measures how an account is adopted, by one root module and by three that share it, and how a
// root module is divided.
//
// Invariants: it runs the measured program only through its command line and imports no packages of
// the engine. The time that the program needs to start is measured, and subtracted from CPU time
// before growth is computed. Every run has its own working and home directories.
package main
