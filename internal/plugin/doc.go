// Package plugin starts provider plugins and communicates with them. The engine uses them as
// [providers.Interface]; only this package distinguishes the two protocol versions.
//
//	Pool ──Start──▶ process (go-plugin: handshake, TLS, gRPC) ◀──conn.Invoke── client (calls by name)
//	  └─ schemas: decoded per type on first use, shared by all processes of a package,
//	     cached on disk by package hash
//
// If a call gets no response because the process crashed, was killed, or hung until the context
// ended, it returns a diagnostic that names the provider and the call. If the provider panicked,
// the diagnostic contains the stack trace.
//
// Invariants: a process is started by Start and ended by Close, which takes a few seconds at most;
// attached processes (TF_REATTACH_PROVIDERS) are never ended; values passed to plugins have no
// marks; a provider may defer objects only if AllowDeferral was called; the output of plugins goes
// to the log, never to the user.
package plugin
