// Package provisioner implements the built-in provisioners: local-exec runs a command on this
// machine, remote-exec runs scripts on another one, and file copies files to it. The engine finds
// them by name through [Builtin].
//
// The content of a connection block says how to reach the other machine. The types of connections
// are rows in a table; each opens a target, on which files can be stored and scripts run.
//
// Invariants: Run ends soon after its context, and the processes that it started end with it. Each
// line of output is passed on as soon as it is complete. If output is hidden, because the
// configuration contains secrets, no output is passed on, and errors contain neither commands nor
// output, but may name files and hosts. Uploaded scripts are removed.
package provisioner
