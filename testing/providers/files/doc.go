// Package files is a provider of files and folders on this machine, below one
// root folder. It is written with terraform-plugin-framework and made for tests
// of the engine, so that it has one of everything a provider can have: managed
// resources with nested, sensitive and write-only attributes, data sources, an
// ephemeral resource, functions, resource identity, import, moves between
// resource types and an older schema version to upgrade from.
//
// Invariants: it writes nothing outside the root folder; it replaces no file
// that it did not create, unless the configuration says overwrite = true; what
// it reports about a file is what is on disk.
package files
