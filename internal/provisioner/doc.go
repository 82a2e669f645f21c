// Package provisioner implements the built-in provisioners: local-exec runs a command on this
// machine, remote-exec runs scripts on a remote machine, and file copies files to a remote machine.
// The engine finds them by name with [Builtin].
//
// A connection block describes how to reach the remote machine. For each type of connection, a
// function opens a target, which stores files and runs scripts.
//
// Invariants: Run ends soon after its context, and so do the processes that it started. Each line
// of output is passed on as soon as it is complete. If output must be hidden because the
// configuration contains secrets, no output is passed on, and errors contain neither commands nor
// output. They may name files and hosts. Uploaded scripts are removed.
package provisioner
