// Package arch contains only tests. They check which packages import which, a few style rules, and
// that everything named in the documents exists.
//
// A new package needs a package comment, and an entry in the list of packages and in the table of
// layers of docs/ARCHITECTURE.md.
package arch
