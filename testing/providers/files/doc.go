// Package files is a provider that manages files and directories below a root directory on the
// local machine. It is written with terraform-plugin-framework, to test the engine. It has an
// example of every provider feature: managed resources with nested, sensitive and write-only
// attributes, data sources, an ephemeral resource, functions, resource identity, import, moves
// between resource types, and an older schema version with an upgrade.
//
// Invariants: it writes nothing outside of the root directory. It only replaces a file that it did
// not create if overwrite = true is set. It reports the values that are on disk.
package files
