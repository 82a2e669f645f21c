// Package all is the table of key providers and encryption methods.
//
// Invariants: a name is in a table once; key providers of OpenTofu that this program doesn't have are in it too, so that a
// configuration that uses one gets an answer instead of "unknown".
package all
