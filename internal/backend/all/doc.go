// Package all lists the backends that a backend block, a -backend-config file or
// terraform_remote_state may name.
//
// Invariants: names are unique; OpenTofu backends that this program doesn't support are listed,
// too. Configurations that use them get a specific error instead of "unknown".
package all
