// Package arch holds tests only: which package may import which, and the few rules of style that a program can hold.
//
// It is for whoever adds a package: a new one needs a row in the table of layers, a doc.go, and nothing that the rules forbid.
package arch
