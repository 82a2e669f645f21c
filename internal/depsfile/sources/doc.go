// Package sources tells where provider packages come from: local folders, mirrors on the network, registries, and
// combinations of them as the CLI configuration describes them.
//
// A [Source] answers two questions: which versions of a provider there are, and where one package is. Package install
// decides which version to take, fetches, verifies and installs it.
//
// Invariants: a [Package] says everything its verification needs, and a signature has been verified by the time the
// Package exists; a source never writes to disk but into the file it is given; answers are not cached between runs,
// since a registry may change at any time.
package sources
