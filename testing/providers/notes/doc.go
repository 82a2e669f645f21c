// Package notes is a provider of notes, which are JSON files in a directory. It is written with
// terraform-plugin-sdk/v2, to test the engine. It has nested blocks in lists and sets, defaults,
// computed and sensitive attributes, suppressed differences, timeouts, an importer and an older
// schema version, and the loose types of that SDK.
//
// Invariants: it writes nothing outside the directory. Notes are read from their files every time
// and never cached.
package notes
