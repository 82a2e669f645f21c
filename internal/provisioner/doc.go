// Package provisioner has the provisioners that are built in: local-exec runs a command here,
// remote-exec runs scripts on another machine, and file copies files to it. It is for the engine,
// which finds them by name through [Builtin].
//
// A provisioner's run is told where to reach the machine by a connection value, the content of a
// connection block. How to reach it is a row in a table of connection types; a target is what such
// a connection gives: somewhere to put files and run scripts.
//
// Invariants: Run ends soon after its context does, and what it started ends with it; every line
// that a command prints is passed on as soon as it is complete; when output is hidden, because the
// configuration holds secrets, none is passed on, and errors have neither commands nor what these
// printed, though they name files and hosts; scripts that were put on another machine are removed
// from it again.
package provisioner
