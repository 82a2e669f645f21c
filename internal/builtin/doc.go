// Package builtin is the provider that is part of the program, terraform.io/builtin/terraform: the
// resource type terraform_data, the data source terraform_remote_state and a few functions. The
// program's wiring makes one with [New] and hands it to the engine wherever that provider is asked
// for.
//
// Invariants: it runs in process and encodes no values, so that an instance of terraform_data costs
// hardly more than its values; it keeps nothing between calls, so one instance serves everybody at
// once; it does no input or output of its own: states of other configurations are read by a
// function that it is given.
package builtin
