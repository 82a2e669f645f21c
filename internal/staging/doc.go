// Package staging puts files and folders into place whole: they are filled under a temporary name beside their place and renamed,
// so that a reader sees the old content or the new one, and a program that is killed leaves the old one.
//
// It is for everything that the program writes but states, whose files have rules of their own (package backend/local).
//
// Invariants: only a file whose folder can't be written is overwritten in its place; temporary names are hidden and begin with one
// prefix, by which what killed processes left is found and removed hours later; a failure leaves nothing under such a name.
package staging
