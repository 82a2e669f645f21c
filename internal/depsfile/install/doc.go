// Package install chooses, fetches, verifies and installs the providers of a root module, and says which packages its
// lock file vouches for from then on.
//
// [Ensure] is what init does, a [Locker] what `providers lock` does, [Mirror] what `providers mirror` does; [Check] is what
// every other command does first, and [Packages] hands the verified programs to those that start providers.
//
// Invariants: a package is compared with every checksum that the lock file and its source give before it is put into
// place; one provider's failure doesn't stop the others, but then no new locks come out; nothing is asked of a network
// that the lock file and the packages at hand can answer; previous locks are never changed.
package install
