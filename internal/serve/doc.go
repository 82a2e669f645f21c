// Package serve answers questions about root modules over JSON-RPC 2.0, one message a line. The methods
// and their parameters are in docs/SERVE.md.
//
// A [Server] has a warm core, and answers the clients of [Server.Serve] (standard streams) or
// [Server.Listen] (a Unix socket). Requests of one client run at the same time, in the order in which
// they were sent as far as they change something (texts, roots); everything else may overtake.
//
// Invariants: no message, client or request ends the server. A bad message is an error to that
// message. When a client goes away its requests are canceled, and its unsaved texts taken back; an
// apply then ends as after an interrupt. Within a version of the protocol, fields and methods are only
// added.
package serve
