// Package plugin launches provider plugins and speaks to them. It is for the program's wiring,
// which hands the result to the engine as [providers.Interface]; nothing else in the program knows
// that there are two protocol versions.
//
//	Pool ──Start──▶ process (go-plugin: handshake, mutual TLS, gRPC) ◀──conn.Invoke── client (calls by name, one message set)
//	  └─ schemas: decoded per type on first use, shared by all processes of a package, kept on disk by package hash
//
// A call that gets no answer (the process crashed, hung until the context ended, or was killed)
// gives a diagnostic that names the provider and the call, with the provider's last words where it
// panicked.
//
// Invariants: a process is started by Start and ended by Close, which takes a few seconds at most
// whatever the plugin does; processes that were attached to (TF_REATTACH_PROVIDERS) are never
// ended; marks must have been removed from values; deferral is never announced; what a plugin
// prints goes to the log, never to the user.
package plugin
