// Package providers is the root of the test providers: real plugins, in a Go
// module of their own so that the engine does not depend on plugin SDKs.
//
//   - files (terraform-plugin-framework, protocol 6; files5 is the same code
//     over protocol 5) manages files and folders below a root folder;
//   - notes (terraform-plugin-sdk/v2, protocol 5) keeps notes as JSON files;
//   - synth (terraform-plugin-framework, protocol 6) announces a large schema
//     and does no work, for measurements.
//
// README.md lists addresses, attributes and the environment variables by which
// tests delay, fail, hang or crash a provider. `make providers` builds them all
// into a filesystem mirror.
//
// Invariants: nothing here imports the engine; a provider never writes outside
// the folder its configuration names.
package providers
