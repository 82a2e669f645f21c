// Package pkgstore keeps provider packages on disk: it unpacks, hashes, remembers and places them.
//
// A [Store] lies in the user's cache folder and is shared by everything that runs there. It holds the content of each
// package once, under the package's content hash; it remembers which archive has which content, so that an archive is
// unpacked and hashed once however many root modules use it; and it remembers the stat data of folders it has hashed,
// so that a package of some hundred megabytes isn't read again before each command.
//
// Invariants: a folder is filled under a temporary name and renamed when it is complete, so that nobody ever sees a
// part of a package, even where file locks don't work; an archive is unpacked only within its folder and only up to a
// sensible size; what the store gives out has been verified against its name, by stat data or by reading it; nothing
// here talks to a network, and losing the whole store costs time only.
package pkgstore
