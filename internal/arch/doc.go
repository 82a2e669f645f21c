// Package arch holds tests only: which package may import which, the few rules of style that a program can hold, and that what
// documents name is there.
//
// It is for whoever adds a package: a new one needs a row in the table of layers, a package comment, a place on the map in
// docs/ARCHITECTURE.md, and nothing that the rules forbid.
package arch
