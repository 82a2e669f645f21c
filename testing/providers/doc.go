// Package providers is the root of the test providers. They are plugins in a separate Go module, so
// the engine does not depend on plugin SDKs.
//
//   - files (terraform-plugin-framework, protocol 6; files5 is the same code over protocol 5) manages
//     files and directories below a root directory.
//   - notes (terraform-plugin-sdk/v2, protocol 5) stores notes as JSON files.
//   - synth (terraform-plugin-framework, protocol 6) has a large schema and does no work, for
//     measurements.
//
// README.md lists their addresses and attributes, and the environment variables that make a
// provider wait, fail, hang or crash. `make providers` builds all of them into a filesystem mirror.
//
// Invariants: no package in this module imports the engine. A provider never writes outside of its
// configured directory.
package providers
