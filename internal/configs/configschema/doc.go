// Package configschema describes what a configuration block may contain: attributes, nested blocks and their types.
//
// Schemas come from providers (through the plugin client) and from the program's own blocks. The engine uses them to decode
// bodies, to correlate planned with configured values and to know what is computed, sensitive or write-only.
//
// Invariants: a schema is immutable once it is handed out, so everything derived from it (implied type, decoder specification,
// mark paths) is computed once and shared; the package does no input or output.
package configschema
