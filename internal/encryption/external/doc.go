// Package external implements the key provider and the method "external", which run user-defined
// programs.
//
// A program prints a header line, reads a request from standard input and prints the response. Both
// are JSON.
//
// Invariants: commands are started directly, without a shell; the error for a failed program
// contains its name and its error output.
package external
