// Package sources finds provider packages in local directories, network mirrors, registries, and
// combinations of them, as the CLI configuration describes.
//
// A [Source] lists the versions of a provider and describes single packages. Package install
// selects the version, and fetches, verifies and installs the package.
//
//	source, err := sources.FromConfig(cliConfig, client)
//	…
//	versions, err := source.Versions(ctx, provider)
//
// Invariants: a [Package] contains everything needed for its verification, and its signature has
// already been verified; a source writes only to the file it is given; answers are not cached
// between runs, because registries change.
package sources
