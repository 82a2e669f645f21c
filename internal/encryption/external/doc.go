// Package external lets programs of the user's own provide keys or encrypt: the key provider and the method of that name.
//
// A program prints a line that says what it is, reads a question from its standard input and prints the answer, both JSON.
//
// Invariants: commands are started directly, without a shell; a program that fails is named, with what it printed to standard error.
package external
