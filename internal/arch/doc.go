// Package arch contains only tests. They check which packages import which, a few style rules, and
// that everything named in the documents exists.
//
// A new package needs a row in the table of layers, a package comment, an entry in the list of
// packages in docs/ARCHITECTURE.md, and no forbidden import.
package arch
