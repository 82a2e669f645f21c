// Package plugin starts provider plugins and communicates with them. The engine uses them as
// [providers.Interface]; only this package knows that there are two protocol versions.
//
//	Pool ──Start──▶ process (go-plugin: handshake, TLS, gRPC) ◀──conn.Invoke── client (calls by name)
//	  └─ schemas: decoded per type on first use, shared by all processes of a package,
//	     cached on disk by package hash
//
// A call without a response, because the process crashed, was killed, or hung until the context
// ended, returns a diagnostic that names the provider and the call, with the stack trace of a
// panic.
//
// Invariants: a process is started by Start and ended by Close, which takes a few seconds at most;
// attached processes (TF_REATTACH_PROVIDERS) are never ended; values passed to plugins have no
// marks; a provider may defer objects only if its user has called AllowDeferral; the output of
// plugins goes to the log, never to the user.
package plugin
