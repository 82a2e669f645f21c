// Package providers defines the interface between the engine and providers, independent of
// protocols.
//
// The plugin client implements [Interface] over gRPC for both protocol versions. The built-in
// provider and test providers implement it in process. The package performs no I/O.
//
// Invariants: neither arguments nor results have marks; a schema is immutable and shared; all
// methods are safe for concurrent use, including Stop during other calls; errors of a call are in
// the Diagnostics of its response, with attribute paths.
package providers
