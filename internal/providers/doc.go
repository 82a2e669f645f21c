// Package providers defines what the engine asks of a provider, free of any protocol.
//
// The plugin client implements [Interface] over gRPC for both protocol versions; the built-in
// provider and the test fakes implement it in process. The package does no input or output.
//
// Invariants: values carry no marks in either direction; a schema is immutable and shared; every
// method may be called from many goroutines at once, Stop also while others run; errors of a call
// are in its response's Diagnostics, naming attributes by path.
package providers
