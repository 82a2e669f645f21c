// Package files is a provider of files and directories below a root directory on the local machine.
// It is written with terraform-plugin-framework for tests of the engine. It has an example of every
// feature of providers: managed resources with nested, sensitive and write-only attributes, data
// sources, an ephemeral resource, functions, resource identity, import, moves between resource
// types and an older schema version with an upgrade.
//
// Invariants: it writes nothing outside the root directory. It replaces a file that it did not
// create only with overwrite = true. Reported values are those on disk.
package files
