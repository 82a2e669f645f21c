// Package tfplugin holds the messages of the provider plugin protocol, generated from
// tfplugin.proto. Only the plugin client uses it.
//
// One set of messages serves both protocol versions. On the wire, fields have numbers instead of
// names. Versions 5 and 6 use the same numbers in all messages that an engine uses, except for
// schema attributes. The client corrects these after decoding. There are no service definitions,
// because the client calls methods by name.
//
// Invariants: fields have the numbers of protocol version 6; in the response with the schema, the
// schemas of types are fields of bytes, so unused types are not decoded. On the wire, bytes have
// the same format as messages.
package tfplugin

//go:generate protoc --go_out=. --go_opt=paths=source_relative tfplugin.proto
