// Package notes is a provider of notes: one JSON file each, in one folder. It
// is written with terraform-plugin-sdk/v2 and made for tests of the engine: it
// has nested blocks in lists and sets, defaults, computed and sensitive
// attributes, suppressed differences, timeouts, an importer and an older schema
// version, and the looser types that go with that SDK.
//
// Invariants: it writes nothing outside the folder; a note is read from its
// file each time, never remembered.
package notes
