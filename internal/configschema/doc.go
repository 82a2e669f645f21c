// Package configschema describes the content of configuration blocks: attributes, nested blocks and
// their types.
//
// Schemas come from providers (through the plugin client) and from built-in blocks. The engine uses
// them to decode bodies, to match planned with configured values, and to find computed, sensitive
// and write-only attributes.
//
// A schema is immutable once it is in use, so everything derived from it (implied type, decoder
// specification, sensitive paths) is computed once and shared. The package performs no I/O.
package configschema
