// Package tfplugin holds the messages of the provider plugin protocol, generated from
// tfplugin.proto. It is for the plugin client alone.
//
// One set serves both protocol versions: the wire format knows fields by number, and versions 5 and
// 6 number the messages that an engine uses alike, except for schema attributes, which the client
// mends after decoding. There are no service definitions: the client calls methods by name.
//
// Invariants: the numbering is that of protocol version 6; schemas of single types stay undecoded
// bytes inside the schema response (the wire format is the same), so that a type which isn't used
// costs no more than its bytes.
package tfplugin

//go:generate protoc --go_out=. --go_opt=paths=source_relative tfplugin.proto
