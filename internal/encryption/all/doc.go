// Package all lists the key providers and encryption methods.
//
// Invariants: names are unique; key providers of OpenTofu that this program doesn't support are
// listed, too. Configurations that use them get a specific error instead of "unknown".
package all
