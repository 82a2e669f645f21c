// Package all is the table of backends: what a backend block, a -backend-config file or terraform_remote_state may name.
//
// Invariants: a name is in the table once; backends of OpenTofu that this program can't open are in it too, so that a configuration
// that uses one gets an answer instead of "unknown".
package all
